/** `retrieve_knowledge`: authorised by knowledge base and operation, asked for the run's own sender (runs §15.4, §15.5). */
import { ServiceError } from "../../domain/errors.js";
import type { KnowledgeBaseResource } from "../../domain/resources.js";
import type { KnowledgeBase, KnowledgeChunk, KnowledgeQuery } from "../../ports/knowledge-base.js";
import type { CallOptions } from "../../ports/options.js";
import type { RetrieveRequest } from "../../ports/run-host.js";
import type { RunRecord } from "../../ports/run-store.js";
import type { RunGate } from "./run-gate.js";

const DEFAULT_TOP_K = 5;
const MAX_TOP_K = 100;

export interface RetrieveDeps {
  readonly gate: RunGate;
  readonly resources: readonly KnowledgeBaseResource[];
  readonly knowledgeBases: ReadonlyMap<string, KnowledgeBase>;
  readonly run: RunRecord;
}

/** @throws ServiceError `host.unauthorized`, `host.invalid_argument` */
export async function retrieveKnowledge(
  { gate, resources, knowledgeBases, run }: RetrieveDeps,
  request: RetrieveRequest,
  options: CallOptions,
): Promise<readonly KnowledgeChunk[]> {
  gate.check();
  const resource = resources.find(({ kb_id }) => kb_id === request.kbId);
  const knowledgeBase = knowledgeBases.get(request.kbId);
  if (knowledgeBase === undefined || resource?.operations.includes("retrieve") !== true)
    throw gate.refuse(`the knowledge base "${request.kbId.slice(0, 100)}"`);
  const topK = request.topK ?? DEFAULT_TOP_K;
  if (!Number.isSafeInteger(topK) || topK < 1 || topK > MAX_TOP_K)
    throw new ServiceError(
      "host.invalid_argument",
      `top_k is a whole number from 1 to ${MAX_TOP_K}; it is ${topK}.`,
    );
  using linked = gate.link(options);
  const { text, filters = {} } = request;
  return await knowledgeBase.retrieve({ text, topK, filters, asker: askerOf(run) }, linked);
}

function askerOf({ tenant, chat, trigger }: RunRecord): KnowledgeQuery["asker"] {
  return {
    tenant,
    bot: chat?.bot_id ?? null,
    sender: trigger.actor.id,
    sessionName: chat && `${chat.launcher_type}_${chat.launcher_id}`,
  };
}
