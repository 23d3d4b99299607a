import { describe, expect, it } from "vitest";
import type { ModelResource } from "../../../../src/domain/resources.js";
import type { RankedDocument, RerankRequest } from "../../../../src/ports/reranker.js";
import type { RerankCall } from "../../../../src/ports/run-host.js";
import { rerankDocuments } from "../../../../src/runs/host/rerank-documents.js";
import { RunGate } from "../../../../src/runs/host/run-gate.js";
import { KeptLogger } from "../../../fakes/kept-logger.js";
import { NEVER } from "../../../support/run-world.js";

const ORDER: ModelResource = {
  model_id: "order",
  type: "rerank",
  provider: "models.example",
  operations: ["rerank"],
  abilities: [],
  context_window: null,
  max_output_tokens: null,
};

function aSetting(answer: readonly RankedDocument[] = [], resources: readonly ModelResource[] = [ORDER]) {
  const requests: RerankRequest[] = [];
  const logger = new KeptLogger();
  const stop = new AbortController();
  const reranker = {
    async rerank(request: RerankRequest) {
      requests.push(request);
      return answer;
    },
  };
  const deps = {
    gate: new RunGate({ runId: "run_1", signal: stop.signal, logger }),
    resources,
    rerankers: new Map([
      ["order", reranker],
      ["main", reranker],
    ]),
  };
  const rerank = (call: Partial<RerankCall> = {}) =>
    rerankDocuments(
      deps,
      { modelId: "order", query: "q", documents: ["a", "b", "c"], ...call },
      { signal: NEVER },
    );
  return { rerank, requests, logger, stop };
}

describe("rerankDocuments", () => {
  it("gives the documents by falling relevance, whatever order the server chose", async () => {
    const { rerank, requests } = aSetting([
      { index: 0, score: 0.1 },
      { index: 2, score: 0.9 },
      { index: 1, score: 0.5 },
    ]);
    expect((await rerank()).map(({ index }) => index)).toEqual([2, 1, 0]);
    expect(requests).toEqual([{ query: "q", documents: ["a", "b", "c"], topN: 3 }]);
    expect((await rerank({ topN: 2 })).map(({ index }) => index)).toEqual([2, 1]);
    expect(requests[1]?.topN).toBe(2);
  });

  it("leaves out what names no document, and what names one twice", async () => {
    const { rerank } = aSetting(
      [3, -1, 0.5, 1, 1, 0].map((index, place) => ({ index, score: 1 - place / 10 })),
    );
    expect((await rerank()).map(({ index }) => index)).toEqual([1, 0]);
  });

  it("takes 64 documents and refuses one more", async () => {
    const { rerank, requests } = aSetting();
    await rerank({ documents: Array.from({ length: 64 }, String) });
    await expect(rerank({ documents: Array.from({ length: 65 }, String) })).rejects.toMatchObject({
      code: "host.invalid_argument",
      message: "At most 64 documents can be ordered at once; there are 65.",
    });
    expect(requests).toHaveLength(1);
  });

  it.each([0, -1, 1.5])("refuses to give the first %d", async (topN) => {
    await expect(aSetting().rerank({ topN })).rejects.toMatchObject({ code: "host.invalid_argument" });
  });

  it("asks no server about no documents", async () => {
    const { rerank, requests } = aSetting();
    expect(await rerank({ documents: [] })).toEqual([]);
    expect(requests).toEqual([]);
  });

  it.each([
    ["outside the snapshot", [ORDER], "main"],
    ["without the operation", [{ ...ORDER, operations: ["invoke" as const] }], "order"],
    ["that is there no more", [{ ...ORDER, model_id: "gone" }], "gone"],
  ])("refuses a model %s, and asks no server", async (_case, resources, modelId) => {
    const { rerank, requests, logger } = aSetting([], resources);
    await expect(rerank({ modelId })).rejects.toMatchObject({
      code: "host.unauthorized",
      message: `This run is not authorized for rerank of the model "${modelId}".`,
    });
    expect(logger.lines).toHaveLength(1);
    expect(requests).toEqual([]);
  });

  it("asks nothing once the run was stopped", async () => {
    const { rerank, requests, stop } = aSetting();
    stop.abort(new Error("stopped"));
    await expect(rerank()).rejects.toThrow("stopped");
    expect(requests).toEqual([]);
  });
});
