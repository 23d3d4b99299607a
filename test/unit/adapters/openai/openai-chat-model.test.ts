import { describe, expect, it, vi } from "vitest";
import { ServiceError } from "../../../../src/domain/errors.js";
import type { ChatChunk } from "../../../../src/ports/chat-model.js";
import {
  bytes,
  chunk,
  drop,
  hang,
  json,
  refuse,
  reply,
  streamOf,
} from "../../../fakes/scripted-model-server.js";
import { ASK, collect, failureOf, never, serveModel, textOf } from "./openai-model.js";

const DONE = "data: [DONE]\n\n";

function event(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

describe("what is sent", () => {
  it("asks for the model with the operator's arguments and the key", async () => {
    await using served = await serveModel([reply({ content: "ok" })], { extraArgs: { temperature: 0 } });
    await served.model.complete(ASK, { signal: never });
    const [request] = served.server.requests;
    expect(request).toMatchObject({ method: "POST", path: "/v1/chat/completions" });
    expect(request?.headers["authorization"]).toBe("Bearer secret-key-of-the-test");
    expect(request?.body).toEqual({
      model: "test-model",
      temperature: 0,
      messages: [{ role: "user", content: "Hi" }],
      stream: false,
    });
  });

  it.each([null, ""])("sends no authorization header without a key: %o", async (apiKey) => {
    vi.stubEnv("OPENAI_API_KEY", "a-key-of-the-environment");
    vi.stubEnv("OPENAI_ORG_ID", "an-organization");
    await using served = await serveModel([reply({ content: "ok" })], { apiKey });
    await served.model.complete(ASK, { signal: never });
    const headers = served.server.requests[0]?.headers ?? {};
    expect(headers).not.toHaveProperty("authorization");
    expect(headers).not.toHaveProperty("openai-organization");
  });

  it("asks for usage only in streams, and never twice for one call", async () => {
    await using served = await serveModel([refuse(503, { message: "Busy." }), reply({ content: "ok" })]);
    await failureOf(served.model.complete(ASK, { signal: never }));
    await collect(served.model.stream(ASK, { signal: never }));
    expect(served.server.requests).toHaveLength(2);
    expect(served.server.body(0)).not.toHaveProperty("stream_options");
    expect(served.server.body(1)).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  });
});

describe("what is read", () => {
  it("reads a stream whose bytes are cut at every place", async () => {
    const wire = Buffer.from(event(chunk({ content: "你好🎉 a\u2028b" })) + event(chunk({}, "stop")) + DONE);
    await using served = await serveModel([bytes(Array.from(wire, (_, i) => wire.subarray(i, i + 1)))]);
    expect(textOf(await collect(served.model.stream(ASK, { signal: never })))).toBe("你好🎉 a\u2028b");
  });

  it("takes several values of one line, and one value of several events", async () => {
    const one = JSON.stringify(chunk({ content: "a" }));
    const other = JSON.stringify(chunk({ content: "b c" }));
    const split = other.indexOf(" c");
    await using served = await serveModel([
      bytes([
        `data: ${one}${one}\n\n`,
        `data: ${other.slice(0, split)}\n\ndata:  ${other.slice(split + 1)}\n\n`,
        DONE,
      ]),
    ]);
    expect(textOf(await collect(served.model.stream(ASK, { signal: never })))).toBe("aab c");
  });

  it.each([
    { what: "a value that never ends", data: '{"choices":[{"delta":{"content":"a' },
    { what: "something that is no JSON", data: "<html>Bad gateway</html>" },
    { what: "a list", data: "[1]" },
  ])("fails on $what instead of losing it", async ({ data }) => {
    await using served = await serveModel([
      bytes([event(chunk({ content: "x" })), `data: ${data}\n\n`, DONE]),
    ]);
    const error = await failureOf(collect(served.model.stream(ASK, { signal: never })));
    expect(error.code).toBe("model.stream_failed");
    expect(error.details).not.toHaveProperty("provider_error");
  });

  it("ignores comments, events without choices and fields of no use, and takes usage wherever it comes", async () => {
    await using served = await serveModel([
      bytes([
        ": waiting\n\n",
        event({ choices: [], usage: null }),
        event({ choices: null }),
        event({ object: "ping" }),
        event(chunk({ role: "assistant", content: null, tool_calls: null })),
        event({ ...Object(chunk({ content: "a" })), usage: { prompt_tokens: 1, completion_tokens: null } }),
        event(chunk({}, "stop")),
        event({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } }),
        DONE,
      ]),
    ]);
    const chunks = await collect(served.model.stream(ASK, { signal: never }));
    expect(textOf(chunks)).toBe("a");
    expect(chunks.flatMap(({ usage }) => usage ?? [])).toEqual([
      { prompt_tokens: 1, completion_tokens: 0, total_tokens: 1 },
      { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    ]);
  });

  it("keeps reasoning for display and for the way back", async () => {
    await using served = await serveModel([
      streamOf(
        chunk({ reasoning_content: "think " }),
        chunk({ reasoning_content: "hard" }),
        chunk({ content: "a" }, "stop"),
      ),
      json(200, { choices: [{ message: { content: "a", reasoning: "think" }, finish_reason: "stop" }] }),
    ]);
    const chunks = await collect(served.model.stream(ASK, { signal: never }));
    expect(chunks.map(({ reasoning }) => reasoning)).toEqual(["think ", "hard", undefined]);
    expect(chunks.map(({ extra }) => extra)).toEqual([
      { reasoning_content: "think " },
      { reasoning_content: "hard" },
      undefined,
    ]);
    const whole = await served.model.complete(ASK, { signal: never });
    expect(whole).toMatchObject({ text: "a", reasoning: "think", extra: { reasoning: "think" } });
  });

  it("keeps unknown fields of calls, and leaves out what only this protocol needs", async () => {
    const call = {
      index: 0,
      id: "c1",
      type: "function",
      extra_content: { google: { thought_signature: "s=" } },
      function: { name: "exec", arguments: { command: "ls" }, weight: 1 },
    };
    await using served = await serveModel([streamOf(chunk({ tool_calls: [call] }, "tool_calls"))]);
    const chunks = await collect(served.model.stream(ASK, { signal: never }));
    expect(chunks.flatMap(({ calls }) => calls ?? [])).toEqual([
      {
        index: 0,
        id: "c1",
        name: "exec",
        arguments: { command: "ls" },
        extra: { extra_content: { google: { thought_signature: "s=" } }, function: { weight: 1 } },
      },
    ]);
  });

  it("reads the older form of a call, text in parts and a refusal", async () => {
    const message = {
      content: [
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ],
      refusal: "c",
      function_call: { name: "exec", arguments: "{}" },
    };
    await using served = await serveModel([
      json(200, { choices: [{ message, finish_reason: "function_call" }] }),
    ]);
    const whole = await served.model.complete(ASK, { signal: never });
    expect(whole).toMatchObject({ text: "abc", calls: [{ name: "exec", arguments: "{}" }] });
  });

  it("takes a whole answer from a server that does not stream", async () => {
    await using served = await serveModel([
      json(200, { choices: [{ message: { content: "whole" }, finish_reason: "stop" }] }),
    ]);
    expect(textOf(await collect(served.model.stream(ASK, { signal: never })))).toBe("whole");
  });

  it("reads an answer without choices as empty", async () => {
    await using served = await serveModel([json(200, {})]);
    expect(await served.model.complete(ASK, { signal: never })).toMatchObject({
      text: null,
      calls: [],
      finishReason: null,
    });
  });

  it("ends cleanly at a finish reason, without [DONE] and without the last blank line", async () => {
    await using served = await serveModel([
      bytes([event(chunk({ content: "a" })), `data: ${JSON.stringify(chunk({}, "stop"))}`]),
      bytes([event(chunk({ content: "b" }, "stop"))], { ending: "reset" }),
    ]);
    expect(textOf(await collect(served.model.stream(ASK, { signal: never })))).toBe("a");
    expect(textOf(await collect(served.model.stream(ASK, { signal: never })))).toBe("b");
  });

  it("reads nothing after [DONE]", async () => {
    await using served = await serveModel([
      bytes([event(chunk({ content: "a" })), DONE, event(chunk({ content: "b" }))], { ending: "hang" }),
    ]);
    expect(textOf(await collect(served.model.stream(ASK, { signal: never })))).toBe("a");
  });
});

describe("what fails", () => {
  it("keeps the text that came before a reset", async () => {
    await using served = await serveModel([bytes([event(chunk({ content: "ab" }))], { ending: "reset" })]);
    const seen: ChatChunk[] = [];
    const error = await failureOf(
      (async () => {
        for await (const piece of served.model.stream(ASK, { signal: never })) seen.push(piece);
      })(),
    );
    expect(textOf(seen)).toBe("ab");
    expect(error.code).toBe("model.stream_failed");
  });

  it.each([
    { status: 400, code: "model.request_refused" },
    { status: 401, code: "model.credentials_refused" },
    { status: 403, code: "model.credentials_refused" },
    { status: 404, code: "model.request_refused" },
    { status: 408, code: "model.timeout" },
    { status: 413, code: "model.request_too_large" },
    { status: 429, code: "model.rate_limited" },
    { status: 500, code: "model.unavailable" },
    { status: 503, code: "model.unavailable" },
  ])("reads a $status as $code, in both modes", async ({ status, code }) => {
    await using served = await serveModel([
      refuse(status, { message: "Because secret-key-of-the-test." }),
      refuse(status, { message: "Because sk-abcdef123456." }),
    ]);
    const whole = await failureOf(served.model.complete(ASK, { signal: never }));
    const streamed = await failureOf(collect(served.model.stream(ASK, { signal: never })));
    for (const error of [whole, streamed]) {
      expect(error.code).toBe(code);
      expect(error.details["status"]).toBe(status);
      expect(error.message).toBe(`The model server answered ${status}: Because ***.`);
    }
  });

  it.each([
    {
      what: "the bare form of other servers",
      body: { object: "error", message: "This model's maximum context length is 4096 tokens.", code: 400 },
    },
    { what: "an error in a list", body: [{ error: { message: "prompt is too long: 9 > 8" } }] },
    { what: "a body that is not JSON", body: "context window exceeded" },
    { what: "no body", body: "" },
  ])("recognises an overflow in $what", async ({ body }) => {
    await using served = await serveModel([json(400, body)]);
    expect((await failureOf(served.model.complete(ASK, { signal: never }))).code).toBe(
      "model.context_overflow",
    );
  });

  it("reads an error object with status 200 as the provider's error, in both modes", async () => {
    const body = { error: { message: "The engine overheated.", code: 502 } };
    await using served = await serveModel([
      json(200, body),
      bytes([event(chunk({ content: "a" })), event(body)]),
    ]);
    const whole = await failureOf(served.model.complete(ASK, { signal: never }));
    const streamed = await failureOf(collect(served.model.stream(ASK, { signal: never })));
    for (const error of [whole, streamed]) {
      expect(error.code).toBe("model.stream_failed");
      expect(error.message).toContain("The engine overheated.");
      expect(error.details).toEqual({ provider_error: true, provider_code: "502" });
    }
  });

  it("reads an answer that is no JSON, or no object, as broken", async () => {
    await using served = await serveModel([json(200, "<html>"), json(200, "[]")]);
    for (const _ of [1, 2])
      expect((await failureOf(served.model.complete(ASK, { signal: never }))).code).toBe(
        "model.stream_failed",
      );
  });

  it("says that a server cannot be reached, without its address", async () => {
    await using served = await serveModel([drop()]);
    const dropped = await failureOf(served.model.complete(ASK, { signal: never }));
    expect(dropped.code).toBe("model.unavailable");
    const { model, server } = served;
    const address = server.baseUrl;
    await server[Symbol.asyncDispose]();
    const closed = await failureOf(collect(model.stream(ASK, { signal: never })));
    expect(closed).toMatchObject({ code: "model.unavailable" });
    expect(closed.message).toContain("ECONNREFUSED");
    expect(closed.message).not.toContain(new URL(address).port);
  });

  it("closes the connection when the run is stopped, before and within an answer", async () => {
    await using served = await serveModel([
      hang(),
      bytes([event(chunk({ content: "a" }))], { ending: "hang" }),
    ]);
    const early = new AbortController();
    const asked = failureOf(served.model.complete(ASK, { signal: early.signal }));
    await vi.waitUntil(() => served.server.requests.length === 1);
    early.abort(new ServiceError("cancelled", "Stopped."));
    expect((await asked).code).toBe("cancelled");
    await served.server.requests[0]?.closed;
    const late = new AbortController();
    const streamed = failureOf(
      (async () => {
        for await (const piece of served.model.stream(ASK, { signal: late.signal }))
          if (piece.text) late.abort(new ServiceError("cancelled", "Stopped."));
      })(),
    );
    expect((await streamed).code).toBe("cancelled");
    await served.server.requests[1]?.closed;
  });

  it("closes the connection when its reader leaves", async () => {
    await using served = await serveModel([bytes([event(chunk({ content: "a" }))], { ending: "hang" })]);
    for await (const piece of served.model.stream(ASK, { signal: never })) if (piece.text) break;
    await served.server.requests[0]?.closed;
    expect(served.server.requests).toHaveLength(1);
  });
});

describe("silence", () => {
  it("is a time-out before the first chunk", async () => {
    await using served = await serveModel([hang(), hang()], { firstChunkMs: 20, idleMs: 30 });
    const streamed = await failureOf(collect(served.model.stream(ASK, { signal: never })));
    expect(streamed).toMatchObject({
      code: "model.timeout",
      details: { limit_ms: 20, phase: "first_chunk" },
    });
    const whole = await failureOf(served.model.complete(ASK, { signal: never }));
    expect(whole).toMatchObject({ code: "model.timeout", details: { limit_ms: 50 } });
  });

  it("is a time-out between chunks, and what came before is kept", async () => {
    await using served = await serveModel([bytes([event(chunk({ content: "a" }))], { ending: "hang" })], {
      idleMs: 20,
    });
    const seen: ChatChunk[] = [];
    const error = await failureOf(
      (async () => {
        for await (const piece of served.model.stream(ASK, { signal: never })) seen.push(piece);
      })(),
    );
    expect(error).toMatchObject({ code: "model.timeout", details: { limit_ms: 20, phase: "idle" } });
    expect(textOf(seen)).toBe("a");
  });

  it("is a clean end after the finish reason", async () => {
    await using served = await serveModel(
      [bytes([event(chunk({ content: "a" }, "stop"))], { ending: "hang" })],
      { idleMs: 20 },
    );
    expect(textOf(await collect(served.model.stream(ASK, { signal: never })))).toBe("a");
  });
});
