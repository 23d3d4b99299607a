import { describe, expect, it } from "vitest";
import type { KnowledgeBaseResource } from "../../../../src/domain/resources.js";
import type { KnowledgeChunk, KnowledgeQuery } from "../../../../src/ports/knowledge-base.js";
import type { CallOptions } from "../../../../src/ports/options.js";
import type { RetrieveRequest } from "../../../../src/ports/run-host.js";
import { retrieveKnowledge } from "../../../../src/runs/host/retrieve-knowledge.js";
import { RunGate } from "../../../../src/runs/host/run-gate.js";
import { KeptLogger } from "../../../fakes/kept-logger.js";
import { aChat } from "../../../support/builders.js";
import { proves } from "../../../support/proves.js";
import { aRun } from "../../../support/records.js";
import { NEVER } from "../../../support/run-world.js";

const CHUNK: KnowledgeChunk = { content: "Press it twice.", score: 0.9, metadata: { page: 7 } };
const MANUAL: KnowledgeBaseResource = { kb_id: "manual", name: "Manual", operations: ["retrieve"] };

function aSetting(resources: readonly KnowledgeBaseResource[] = [MANUAL], run = aRun({ chat: aChat() })) {
  const queries: KnowledgeQuery[] = [];
  const stop = new AbortController();
  const logger = new KeptLogger();
  const knowledgeBase = {
    async retrieve(query: KnowledgeQuery, { signal }: CallOptions) {
      queries.push(query);
      stop.abort(new Error("gone"));
      return signal.aborted ? [CHUNK] : [];
    },
  };
  const deps = {
    gate: new RunGate({ runId: run.id, signal: stop.signal, logger }),
    resources,
    knowledgeBases: new Map(["manual", "secret"].map((id) => [id, knowledgeBase])),
    run,
  };
  const retrieve = (request: Partial<RetrieveRequest> = {}) =>
    retrieveKnowledge(deps, { kbId: "manual", text: "How?", ...request }, { signal: NEVER });
  return { queries, retrieve, logger, stop };
}

describe("retrieveKnowledge", () => {
  it("asks for the run's own sender, hands on what the runner asked, and gives the run's signal along", async () => {
    const chat = aChat({ bot_id: "web", sender_id: "7" });
    const { retrieve, queries } = aSetting([MANUAL], aRun({ chat, tenant: "other" }));
    expect(await retrieve({ topK: 3, filters: { lang: "en" } })).toEqual([CHUNK]);
    const asker = { tenant: "other", bot: "web", sender: "7", sessionName: "person_42" };
    expect(queries).toEqual([{ text: "How?", topK: 3, filters: { lang: "en" }, asker }]);
  });

  it("asks for five passages without filters, where nothing is said; an event may have no chat", async () => {
    const { retrieve, queries } = aSetting([MANUAL], aRun({ chat: null }));
    await retrieve();
    expect(queries).toMatchObject([{ topK: 5, filters: {}, asker: { bot: null, sessionName: null } }]);
  });

  it("refuses a knowledge base outside the snapshot, and asks none", async () => {
    proves("AUTH-14");
    const { retrieve, queries, logger } = aSetting();
    await expect(retrieve({ kbId: "secret" })).rejects.toMatchObject({
      code: "host.unauthorized",
      message: 'This run is not authorized for the knowledge base "secret".',
    });
    expect(logger.lines).toHaveLength(1);
    expect(queries).toEqual([]);
  });

  it.each([
    ["without the operation", { ...MANUAL, operations: ["list" as const] }, "manual"],
    ["that is there no more", { ...MANUAL, kb_id: "gone" }, "gone"],
  ])("refuses one %s", async (_case, resource, kbId) => {
    const { retrieve, queries } = aSetting([resource]);
    await expect(retrieve({ kbId })).rejects.toMatchObject({ code: "host.unauthorized" });
    expect(queries).toEqual([]);
  });

  it.each([0, -1, 1.5, 101, Number.NaN])("refuses to fetch %d passages", async (topK) => {
    const { retrieve, queries } = aSetting();
    await expect(retrieve({ topK })).rejects.toMatchObject({ code: "host.invalid_argument" });
    expect(queries).toEqual([]);
  });

  it("asks nothing once the run was stopped", async () => {
    const { retrieve, queries, stop } = aSetting();
    stop.abort(new Error("stopped"));
    await expect(retrieve()).rejects.toThrow("stopped");
    expect(queries).toEqual([]);
  });
});
