import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { OpenAiReranker } from "../../../../src/adapters/openai/openai-reranker.js";
import type { OpenAiModelSettings } from "../../../../src/adapters/openai/settings.js";
import {
  hang,
  refuse,
  type ScriptedModelServer,
  type ServerStep,
  startScriptedModelServer,
} from "../../../fakes/scripted-model-server.js";
import { failureOf, modelSettings, never } from "./openai-model.js";

const ASK = { query: "Which?", documents: ["a", "b", "c"], topN: 2 };
const CALL = { signal: never };

interface Served extends AsyncDisposable {
  readonly server: ScriptedModelServer;
  readonly reranker: OpenAiReranker;
}

async function serve(step: ServerStep, settings: Partial<OpenAiModelSettings> = {}): Promise<Served> {
  return asServed(await startScriptedModelServer([step]), settings);
}

function asServed(server: ScriptedModelServer, settings: Partial<OpenAiModelSettings>): Served {
  const reranker = new OpenAiReranker(modelSettings(server.baseUrl, settings));
  return { server, reranker, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

function answering(answer: unknown): ServerStep {
  return (_request, response: ServerResponse) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(typeof answer === "string" ? answer : JSON.stringify(answer));
  };
}

describe("OpenAiReranker", () => {
  it("asks POST /rerank with the model's own name and the operator's arguments", async () => {
    const results = [
      { index: 0, relevance_score: 0.2, document: { text: "a" } },
      { index: 2, relevance_score: 0.9 },
    ];
    await using served = await serve(answering({ id: "1", results }), {
      extraArgs: { truncate: true, model: "x" },
    });
    expect(await served.reranker.rerank(ASK, CALL)).toEqual([
      { index: 2, score: 0.9 },
      { index: 0, score: 0.2 },
    ]);
    const [request] = served.server.requests;
    expect(request).toMatchObject({ method: "POST", path: "/v1/rerank" });
    expect(request?.headers["authorization"]).toBe("Bearer secret-key-of-the-test");
    expect(request?.body).toEqual({
      truncate: true,
      model: "test-model",
      query: "Which?",
      documents: ["a", "b", "c"],
      top_n: 2,
    });
  });

  it.each([
    ["under data", { data: [{ index: 1, relevance_score: 0.5 }] }],
    ["without a group around it", [{ index: 1, score: 0.5 }]],
    ["with null for the other word", { results: [{ index: 1, relevance_score: null, score: 0.5 }] }],
  ])("reads a list %s", async (_case, answer) => {
    await using served = await serve(answering(answer));
    expect(await served.reranker.rerank(ASK, CALL)).toEqual([{ index: 1, score: 0.5 }]);
  });

  it.each([{ results: "none" }, { results: [{ index: "0" }] }, {}, "nonsense"])(
    "takes %j for a broken answer",
    async (answer) => {
      await using served = await serve(answering(answer));
      expect((await failureOf(served.reranker.rerank(ASK, CALL))).code).toBe("model.stream_failed");
    },
  );

  it("tells a refusal by its code, without the key", async () => {
    const refusal = refuse(401, { message: "Bad key secret-key-of-the-test" });
    await using served = await serve(refusal);
    const failure = await failureOf(served.reranker.rerank(ASK, CALL));
    expect(failure.code).toBe("model.credentials_refused");
    expect(failure.message).not.toContain("secret-key");
  });

  it("tells that no server is there", async () => {
    const gone = await serve(answering({}));
    await gone[Symbol.asyncDispose]();
    expect((await failureOf(gone.reranker.rerank(ASK, CALL))).code).toBe("model.unavailable");
  });

  it("gives up on a server that says nothing, and closes the connection", async () => {
    await using served = await serve(hang(), { firstChunkMs: 20, idleMs: 20 });
    expect((await failureOf(served.reranker.rerank(ASK, CALL))).code).toBe("model.timeout");
    await expect(served.server.requests[0]?.closed).resolves.toBeUndefined();
  });

  it("stops with the caller's reason", async () => {
    const stop = new AbortController();
    await using served = await serve((request) => {
      stop.abort(new Error("enough"));
      return request.closed;
    });
    await expect(served.reranker.rerank(ASK, { signal: stop.signal })).rejects.toThrow("enough");
  });
});
