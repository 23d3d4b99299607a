/** What every ChatModel promises, whatever is behind it (ports/chat-model.ts). */
import { describe, expect, it } from "vitest";
import { ServiceError } from "../../src/domain/errors.js";
import type { TurnUsage } from "../../src/domain/usage.js";
import type { ChatChunk, ChatModel, ChatReply, ChatRequest } from "../../src/ports/chat-model.js";
import { CallAssembler } from "../../src/runners/local-agent/assemble-calls.js";
import type { Opened } from "../support/opened.js";

/** What the model under test is made to do, once per call. */
export type Behaviour =
  | {
      readonly kind: "reply";
      readonly text: string;
      readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
      readonly usage: TurnUsage;
    }
  | { readonly kind: "rate_limited" }
  /** Text, then an end without a finish reason. */
  | { readonly kind: "broken_off"; readonly text: string }
  /** Nothing, for ever. */
  | { readonly kind: "hanging" };

export type MakeChatModel = (behaviours: readonly Behaviour[]) => Promise<Opened<ChatModel>>;

const REPLY = {
  kind: "reply",
  text: "Hello, 你好🎉",
  calls: [
    { id: "c1", name: "exec", arguments: '{"command":"ls"}' },
    { id: "c2", name: "read", arguments: '{"path":"a.txt"}' },
  ],
  usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 },
} as const satisfies Behaviour;
const REQUEST: ChatRequest = {
  messages: [{ role: "user", content: "Hi" }],
  tools: [{ name: "exec", description: "Runs a command.", parameters: { type: "object", properties: {} } }],
};

export function describeChatModel(name: string, make: MakeChatModel): void {
  describe(`chat model: ${name}`, () => {
    it("gives the same text, calls, usage and finish reason in both modes", async () => {
      await using model = await make([REPLY, REPLY]);
      const { signal } = new AbortController();
      const whole = summarise(toChunks(await model.it.complete(REQUEST, { signal })));
      const streamed = summarise(await collect(model.it.stream(REQUEST, { signal })));
      expect(whole).toEqual({
        text: REPLY.text,
        calls: REPLY.calls,
        usage: REPLY.usage,
        finishReason: "tool_calls",
      });
      expect(streamed).toEqual(whole);
    });

    it("says with code and status that it is asked too often", async () => {
      await using model = await make([{ kind: "rate_limited" }, { kind: "rate_limited" }]);
      const { signal } = new AbortController();
      for (const ask of [
        () => model.it.complete(REQUEST, { signal }),
        () => collect(model.it.stream(REQUEST, { signal })),
      ]) {
        const error = await failureOf(ask());
        expect(error.code).toBe("model.rate_limited");
        expect(error.details["status"]).toBe(429);
      }
    });

    it("gives what came and then fails when a stream ends without a finish reason", async () => {
      await using model = await make([{ kind: "broken_off", text: "half an ans" }]);
      const seen: ChatChunk[] = [];
      const error = await failureOf(
        (async () => {
          for await (const chunk of model.it.stream(REQUEST, { signal: new AbortController().signal }))
            seen.push(chunk);
        })(),
      );
      expect(error.code).toBe("model.stream_failed");
      expect(seen.map(({ text }) => text ?? "").join("")).toBe("half an ans");
    });

    it("rejects with the signal's reason when it is aborted", async () => {
      await using model = await make([{ kind: "hanging" }, { kind: "hanging" }]);
      for (const ask of [
        (signal: AbortSignal) => model.it.complete(REQUEST, { signal }),
        (signal: AbortSignal) => collect(model.it.stream(REQUEST, { signal })),
      ]) {
        const controller = new AbortController();
        const reason = new ServiceError("cancelled", "Stopped by the test.");
        const answer = failureOf(ask(controller.signal));
        setImmediate(() => controller.abort(reason));
        expect(await answer).toBe(reason);
      }
    });

    it("asks nothing with a signal that is aborted already", async () => {
      await using model = await make([]);
      const reason = new ServiceError("cancelled", "Stopped by the test.");
      const options = { signal: AbortSignal.abort(reason) };
      expect(await failureOf(model.it.complete(REQUEST, options))).toBe(reason);
      expect(await failureOf(collect(model.it.stream(REQUEST, options)))).toBe(reason);
    });

    it("frees what it holds when its reader leaves early", async () => {
      await using model = await make([REPLY, REPLY]);
      const { signal } = new AbortController();
      for await (const chunk of model.it.stream(REQUEST, { signal })) if (chunk.text) break;
      expect((await model.it.complete(REQUEST, { signal })).text).toBe(REPLY.text);
    });
  });
}

async function collect(stream: AsyncIterable<ChatChunk>): Promise<readonly ChatChunk[]> {
  const chunks: ChatChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

async function failureOf(work: Promise<unknown>): Promise<ServiceError> {
  const error: unknown = await work.then(
    () => new Error("It did not fail."),
    (thrown: unknown) => thrown,
  );
  if (error instanceof ServiceError) return error;
  throw error;
}

/** A reply as one chunk, as the runner reads it. */
function toChunks(reply: ChatReply): readonly ChatChunk[] {
  return [
    {
      text: reply.text ?? "",
      calls: reply.calls.map((call, index) => ({ ...call, index })),
      finishReason: reply.finishReason ?? undefined,
      usage: reply.usage ?? undefined,
    },
  ];
}

function summarise(chunks: readonly ChatChunk[]): unknown {
  const assembler = new CallAssembler();
  for (const piece of chunks.flatMap(({ calls }) => calls ?? [])) assembler.push(piece);
  return {
    text: chunks.map(({ text }) => text ?? "").join(""),
    calls: assembler.calls.map(({ id, name, argumentsText }) => ({ id, name, arguments: argumentsText })),
    usage: chunks.findLast(({ usage }) => usage !== undefined)?.usage,
    finishReason: chunks.findLast(({ finishReason }) => finishReason !== undefined)?.finishReason,
  };
}
