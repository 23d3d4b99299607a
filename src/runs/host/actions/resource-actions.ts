/** `retrieve_knowledge`, `rerank` and `capture_file` (runs §15.5). */
import { z } from "zod";
import { deliveryKindSchema } from "../../../domain/delivery.js";
import { type HostActionTable, one } from "./define-action.js";

const MAX_URL_CHARS = 16_384;
const MAX_QUERY_CHARS = 65_536;

const query = z.string().max(MAX_QUERY_CHARS);

const retrieveSchema = z.strictObject({
  kb_id: z.string(),
  query,
  top_k: z.number().optional(),
  filters: z.record(z.string(), z.unknown()).optional(),
});

const rerankSchema = z.strictObject({
  model_id: z.string(),
  query,
  documents: z.array(z.string()),
  top_n: z.number().optional(),
});

const captureSchema = z.strictObject({
  url: z.string().max(MAX_URL_CHARS),
  kind: deliveryKindSchema.optional(),
  name: z.string().max(1024).optional(),
});

export const RESOURCE_ACTIONS: HostActionTable = {
  retrieve_knowledge: one(retrieveSchema, async (host, asked, options) => {
    const { kb_id: kbId, query: text, top_k: topK, filters } = asked;
    return host.retrieveKnowledge({ kbId, text, topK, filters }, options);
  }),
  rerank: one(rerankSchema, async (host, asked, options) => {
    const { model_id: modelId, query: text, documents, top_n: topN } = asked;
    return host.rerank({ modelId, query: text, documents, topN }, options);
  }),
  capture_file: one(captureSchema, async (host, asked, options) => ({
    file_id: await host.captureFile(asked, options),
  })),
};
