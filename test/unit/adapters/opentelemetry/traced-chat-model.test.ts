import { type Attributes, type Span, type SpanStatus, SpanStatusCode, trace } from "@opentelemetry/api";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TracedChatModel } from "../../../../src/adapters/opentelemetry/traced-chat-model.js";
import { failure, ScriptedModel, type Step, text } from "../../../fakes/scripted-model.js";

interface Ended {
  readonly name: string;
  readonly attributes: Attributes;
  readonly status: SpanStatus | null;
}

const REQUEST = { messages: [], tools: [] };
const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const OPTIONS = { signal: new AbortController().signal };
let ended: Ended[] = [];

class KeptSpan implements Span {
  readonly #name: string;
  readonly #attributes: Attributes;
  #status: SpanStatus | null = null;

  constructor(name: string, attributes: Attributes) {
    this.#name = name;
    this.#attributes = { ...attributes };
  }

  spanContext() {
    return { traceId: "0", spanId: "0", traceFlags: 0 };
  }
  setAttribute(key: string, value: Attributes[string]) {
    this.#attributes[key] = value;
    return this;
  }
  setAttributes(attributes: Attributes) {
    Object.assign(this.#attributes, attributes);
    return this;
  }
  setStatus(status: SpanStatus) {
    this.#status = status;
    return this;
  }
  addEvent = () => this;
  addLink = () => this;
  addLinks = () => this;
  updateName = () => this;
  isRecording = () => true;
  recordException = () => undefined;
  end() {
    ended.push({ name: this.#name, attributes: this.#attributes, status: this.#status });
  }
}

function traced(step: Step): TracedChatModel {
  return new TracedChatModel({ model: new ScriptedModel([step]), modelId: "m1" });
}

function startSpan(name: string, options?: { readonly attributes?: Attributes }): Span {
  return new KeptSpan(name, options?.attributes ?? {});
}

function startActiveSpan(): never {
  throw new Error("not used");
}

beforeEach(() => {
  ended = [];
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan, startActiveSpan }) });
});
afterEach(() => trace.disable());

const expected = {
  "gen_ai.operation.name": "chat",
  "gen_ai.request.model": "m1",
  "gen_ai.usage.input_tokens": 3,
  "gen_ai.usage.output_tokens": 2,
  "gen_ai.response.finish_reasons": ["stop"],
};

describe("a traced model", () => {
  it("gives the span of a whole reply the counts and nothing that was said", async () => {
    const reply = await traced(text("secret words", { usage: USAGE })).complete(REQUEST, OPTIONS);
    expect(reply.text).toBe("secret words");
    expect(ended).toEqual([{ name: "chat m1", attributes: expected, status: null }]);
  });

  it("gives the span of a stream the same", async () => {
    const pieces: string[] = [];
    for await (const chunk of traced(text("secret words", { usage: USAGE })).stream(REQUEST, OPTIONS))
      pieces.push(chunk.text ?? "");
    expect(pieces.join("")).toBe("secret words");
    expect(ended).toEqual([{ name: "chat m1", attributes: expected, status: null }]);
  });

  it("marks the span of a failed call with the error code only", async () => {
    const call = traced(failure("model.rate_limited", { message: "secret words" })).complete(
      REQUEST,
      OPTIONS,
    );
    await expect(call).rejects.toThrow("secret words");
    expect(ended).toMatchObject([
      {
        attributes: { "error.type": "model.rate_limited" },
        status: { code: SpanStatusCode.ERROR, message: "model.rate_limited" },
      },
    ]);
  });

  it("ends the span of a stream that its reader leaves", async () => {
    for await (const _chunk of traced(text("words")).stream(REQUEST, OPTIONS)) break;
    expect(ended).toHaveLength(1);
  });
});
