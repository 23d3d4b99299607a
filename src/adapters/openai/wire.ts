/** What chat-completions servers answer: only what is needed is read, nulls are nothing, the rest is kept or ignored. */
import { z } from "zod";
import type { TurnUsage } from "../../domain/usage.js";
import type { CallPiece, ChatChunk, ChatReply } from "../../ports/chat-model.js";

/** A field of another type than expected counts as absent: a quirk of one field must not cost the reply. */
const optional = <Schema extends z.ZodType>(schema: Schema) => schema.nullish().catch(null);

const count = z.number().nonnegative().transform(Math.trunc);
const usageSchema = z.object({
  prompt_tokens: optional(count),
  completion_tokens: optional(count),
  total_tokens: optional(count),
});

const functionSchema = z.looseObject({
  name: optional(z.string()),
  arguments: optional(z.union([z.string(), z.record(z.string(), z.unknown())])),
});
const callSchema = z.looseObject({
  index: optional(z.number().int()),
  id: optional(z.string()),
  type: z.unknown().optional(),
  function: optional(functionSchema),
});

const contentSchema = z.union([
  z.string(),
  z.array(z.looseObject({ type: z.unknown().optional(), text: optional(z.string()) })),
]);
const messageSchema = z.looseObject({
  content: optional(contentSchema),
  refusal: optional(z.string()),
  reasoning_content: optional(z.string()),
  reasoning: optional(z.string()),
  tool_calls: optional(z.array(callSchema)),
  /** The older form of one call. */
  function_call: optional(functionSchema),
});
type WireMessage = z.infer<typeof messageSchema>;

const choiceSchema = z.looseObject({
  index: optional(z.number()),
  delta: optional(messageSchema),
  message: optional(messageSchema),
  finish_reason: optional(z.string()),
});

const providerErrorSchema = z.union([
  z.string(),
  z.looseObject({
    message: z.unknown().optional(),
    code: z.unknown().optional(),
    type: z.unknown().optional(),
  }),
]);

const answerSchema = z.looseObject({
  choices: optional(z.array(choiceSchema)),
  usage: optional(usageSchema),
  error: optional(providerErrorSchema),
});

/** An error that the provider names in an answer, whatever its status. */
export interface ProviderError {
  readonly message: string;
  readonly code: string | null;
}

export type Decoded<Value> =
  | { readonly kind: "value"; readonly value: Value }
  | { readonly kind: "error"; readonly error: ProviderError }
  /** Not an object of this protocol at all. */
  | { readonly kind: "foreign" };

export function decodeChunk(json: unknown): Decoded<ChatChunk> {
  return decode(json, (answer) => {
    const choice = pickChoice(answer.choices);
    const usage = toUsage(answer.usage);
    return {
      ...(choice === undefined ? {} : toChunk(choice.delta ?? choice.message ?? null)),
      ...(choice?.finish_reason ? { finishReason: choice.finish_reason } : {}),
      ...(usage === null ? {} : { usage }),
    };
  });
}

export function decodeReply(json: unknown): Decoded<ChatReply> {
  return decode(json, (answer) => {
    const choice = pickChoice(answer.choices);
    const chunk = toChunk(choice?.message ?? choice?.delta ?? null);
    return {
      text: chunk.text ?? null,
      reasoning: chunk.reasoning ?? null,
      calls: (chunk.calls ?? []).map(withoutIndex),
      extra: chunk.extra,
      finishReason: choice?.finish_reason ?? null,
      usage: toUsage(answer.usage),
    };
  });
}

/** Reads the body of a refusal: `{error: {…}}`, or the bare error that some servers send. */
export function decodeProviderError(body: unknown): ProviderError | null {
  const json: unknown = Array.isArray(body) ? body[0] : body;
  const wrapped = z.looseObject({ error: providerErrorSchema }).safeParse(json);
  if (wrapped.success) return toProviderError(wrapped.data.error);
  const bare = z
    .looseObject({ message: z.string(), code: z.unknown().optional(), type: z.unknown().optional() })
    .safeParse(json);
  return bare.success ? toProviderError(bare.data) : null;
}

/** Whole calls need no index, and some servers give all of them the same one. */
function withoutIndex({ id, name, arguments: given, extra }: CallPiece): CallPiece {
  return { id, name, arguments: given, extra };
}

function decode<Value>(json: unknown, read: (answer: z.infer<typeof answerSchema>) => Value): Decoded<Value> {
  const parsed = answerSchema.safeParse(json);
  if (!parsed.success) return { kind: "foreign" };
  const { error } = parsed.data;
  if (error) return { kind: "error", error: toProviderError(error) };
  return { kind: "value", value: read(parsed.data) };
}

function toProviderError(error: z.infer<typeof providerErrorSchema>): ProviderError {
  if (typeof error === "string") return { message: error, code: null };
  const code = [error.code, error.type].find((word) => typeof word === "string" || typeof word === "number");
  const message = typeof error.message === "string" ? error.message : JSON.stringify(error);
  return { message, code: code === undefined ? null : String(code) };
}

type WireChoice = z.infer<typeof choiceSchema>;

function pickChoice(choices: readonly WireChoice[] | null | undefined): WireChoice | undefined {
  return choices?.find(({ index }) => (index ?? 0) === 0);
}

function toChunk(message: WireMessage | null): ChatChunk {
  if (message === null) return {};
  const older = message.function_call ? [{ function: message.function_call }] : [];
  const calls = [...(message.tool_calls ?? []), ...older].map(toPiece);
  return {
    text: contentText(message.content) + (message.refusal ?? "") || undefined,
    reasoning: message.reasoning_content || message.reasoning || undefined,
    calls: calls.length === 0 ? undefined : calls,
    extra: filledOrNothing(unknownFields(message, MESSAGE_FIELDS)),
  };
}

/** Read elsewhere, or of no use to the server that sent it. */
const MESSAGE_FIELDS = new Set([
  "role",
  "content",
  "tool_calls",
  "function_call",
  "refusal",
  "annotations",
  "audio",
  "name",
]);
const CALL_FIELDS = new Set(["index", "id", "type", "function"]);
const FUNCTION_FIELDS = new Set(["name", "arguments"]);

function toPiece(call: Partial<z.infer<typeof callSchema>>): CallPiece {
  const inner: Partial<z.infer<typeof functionSchema>> = call.function ?? {};
  const innerExtra = filledOrNothing(unknownFields(inner, FUNCTION_FIELDS));
  const extra = {
    ...unknownFields(call, CALL_FIELDS),
    ...(innerExtra === undefined ? {} : { function: innerExtra }),
  };
  return {
    index: call.index ?? undefined,
    id: call.id || undefined,
    name: inner.name || undefined,
    arguments: inner.arguments ?? undefined,
    extra: filledOrNothing(extra),
  };
}

function filledOrNothing(
  fields: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> | undefined {
  return Object.keys(fields).length === 0 ? undefined : fields;
}

function contentText(content: z.infer<typeof contentSchema> | null | undefined): string {
  if (typeof content === "string") return content;
  return (content ?? []).map(({ text }) => text ?? "").join("");
}

function unknownFields(fields: object, known: ReadonlySet<string>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fields).filter(
      ([name, value]) => !known.has(name) && value !== null && value !== undefined,
    ),
  );
}

function toUsage(usage: z.infer<typeof usageSchema> | null | undefined): TurnUsage | null {
  if (!usage) return null;
  const prompt = usage.prompt_tokens ?? 0;
  const completion = usage.completion_tokens ?? 0;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: usage.total_tokens ?? prompt + completion,
  };
}
