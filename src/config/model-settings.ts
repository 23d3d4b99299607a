/** Settings of the models: each is an OpenAI-compatible endpoint (api §8). */
import { z } from "zod";

/** The offline demo model (api §9): always there, never configured. */
export const DEMO_MODEL_ID = "demo";

/** The model that comes from variables alone, where a file lists none (api §8). */
export const MODEL_OF_ENVIRONMENT = "main";

export const TOKENIZERS = [
  "auto",
  "o200k_base",
  "cl100k_base",
  "qwen3",
  "deepseek_v3",
  "llama3",
  "server",
  "none",
] as const;

export const modelSchema = z.strictObject({
  id: z
    .string()
    .regex(/^(?!demo$)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/)
    .meta({
      description: "Name under which pipelines select the model.",
      allowed: `1 to 64 letters, digits, dots, underscores and dashes; "${DEMO_MODEL_ID}" is taken by the built-in demo model`,
    }),
  type: z.enum(["llm", "rerank"]).default("llm").meta({
    description:
      "What the model does: `llm` answers messages, `rerank` orders documents (`POST /rerank` of the same server).",
  }),
  base_url: z
    .string()
    .regex(/^https?:\/\/[^\s]+$/, { abort: true })
    .refine((address) => URL.canParse(address))
    .meta({
      description: "Address of the OpenAI-compatible server, up to and with `/v1`.",
      allowed: "an http or https address",
    }),
  api_key: z.string().max(4096).nullable().default(null).meta({
    description: "Key for that server; null or empty where it wants none.",
    secret: true,
  }),
  model: z.string().min(1).max(256).meta({ description: "The server's own name of the model." }),
  abilities: z
    .array(z.enum(["func_call", "vision", "reasoning"]))
    .default(["func_call"])
    .meta({
      description:
        "What the model can do. Without `func_call` it is offered no tools, without `vision` it is sent no images.",
    }),
  context_window: z.int().min(0).nullable().default(null).meta({
    description: "Input and output together; null where it is not known.",
    unit: "tokens",
  }),
  max_output_tokens: z.int().min(1).nullable().default(null).meta({
    description: "Longest answer of the model; null where it is not known.",
    unit: "tokens",
  }),
  tokenizer: z.enum(TOKENIZERS).default("auto").meta({
    description:
      "What counts the tokens of this model; `auto` picks by its name. Read by later versions: this one counts none.",
  }),
  extra_args: z.record(z.string().min(1), z.unknown()).default({}).meta({
    description: "Fields added to every request as they stand.",
  }),
  first_chunk_sec: z.number().positive().max(3600).default(60).meta({
    description: "Longest silence before the first piece of an answer.",
    unit: "s",
  }),
  idle_sec: z.number().positive().max(3600).default(120).meta({
    description: "Longest silence between two pieces of an answer.",
    unit: "s",
  }),
});
export type ModelConfig = z.infer<typeof modelSchema>;

export function modelsOfType(
  { models }: { readonly models: readonly ModelConfig[] },
  type: ModelConfig["type"],
): readonly ModelConfig[] {
  return models.filter((model) => model.type === type);
}
