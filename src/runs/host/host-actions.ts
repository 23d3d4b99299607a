/**
 * The table of host actions: name → payload → method of the run's host (runs §15.5). A method of `RunHost` that runners
 * of packages may call has its entry here; the wire keeps the spelling of the spec.
 */
import { z } from "zod";
import { ServiceError } from "../../domain/errors.js";
import { sessionIdSchema } from "../../domain/ids.js";
import { messageSchema } from "../../domain/message.js";
import type { HostActionAnswer, HostActions } from "../../ports/host-actions.js";
import type { CallOptions } from "../../ports/options.js";
import type { ModelCall, RunHost } from "../../ports/run-host.js";
import { toWireChunk, toWireReply } from "./wire-replies.js";

type Perform = (host: RunHost, payload: unknown, options: CallOptions) => Promise<HostActionAnswer>;

const modelCallSchema = z.strictObject({
  model_id: z.string(),
  messages: z.array(messageSchema),
  tools: z
    .array(
      z.strictObject({
        name: z.string(),
        description: z.string(),
        parameters: z.record(z.string(), z.unknown()),
      }),
    )
    .default([]),
  max_output_tokens: z.int().positive().optional(),
  remove_think: z.boolean().optional(),
});

const toolName = z.string().min(1).max(200);
const nothing = z.strictObject({});

/** An action that gives one value. */
function one<Payload extends z.ZodType>(
  schema: Payload,
  perform: (host: RunHost, payload: z.infer<Payload>, options: CallOptions) => Promise<unknown>,
): Perform {
  return async (host, payload, options) => ({
    kind: "value",
    value: await perform(host, check(schema, payload), options),
  });
}

/** An action that gives values as they come. */
function many<Payload extends z.ZodType>(
  schema: Payload,
  perform: (host: RunHost, payload: z.infer<Payload>, options: CallOptions) => AsyncIterable<unknown>,
): Perform {
  return async (host, payload, options) => ({
    kind: "stream",
    values: perform(host, check(schema, payload), options),
  });
}

const ACTIONS: ReadonlyMap<string, Perform> = new Map([
  [
    "invoke_llm",
    one(modelCallSchema, async (host, call, options) =>
      toWireReply(await host.invokeModel(toModelCall(call), options)),
    ),
  ],
  [
    "invoke_llm_stream",
    many(modelCallSchema, async function* (host, call, options) {
      for await (const chunk of host.streamModel(toModelCall(call), options)) yield toWireChunk(chunk);
    }),
  ],
  [
    "get_tool_detail",
    one(z.strictObject({ tool_name: toolName }), (host, { tool_name }, options) =>
      host.getToolDetail(tool_name, options),
    ),
  ],
  [
    "call_tool",
    one(
      z.strictObject({
        tool_call_id: z.string().regex(/^[A-Za-z0-9._-]{1,128}$/),
        tool_name: toolName,
        parameters: z.record(z.string(), z.unknown()),
      }),
      (host, { tool_call_id: id, tool_name: name, parameters }, options) =>
        host.callTool({ id, name, parameters }, options),
    ),
  ],
  ["get_prompt", one(nothing, (host, _payload, options) => host.getPrompt(options))],
  [
    "history_page",
    one(
      z.strictObject({
        direction: z.enum(["backward", "forward"]).default("backward"),
        cursor: z.string().max(200).optional(),
        limit: z.int().positive().optional(),
        content_chars: z.int().positive().optional(),
      }),
      (host, { content_chars: contentChars, ...request }, options) =>
        host.historyPage({ ...request, contentChars }, options),
    ),
  ],
  [
    "read_image",
    one(
      z.strictObject({ reference: z.string().max(200), max_bytes: z.int().positive() }),
      async (host, { reference, max_bytes }, options) => {
        const image = await host.readImage(reference, max_bytes, options);
        if (image === null) return null;
        return { mime_type: image.mimeType, base64: image.base64, bytes: image.sizeBytes };
      },
    ),
  ],
  ["box_status", one(nothing, (host, _payload, options) => host.boxStatus(options))],
  ["box_acquire", one(z.unknown(), (host, request, options) => host.acquireBox(request, options))],
  [
    "box_bind",
    one(z.strictObject({ box: sessionIdSchema.optional() }), async (host, { box }, options) => {
      const { sessionId, ...bound } = await host.bindBox({ ...options, box });
      return { session_id: sessionId, ...bound };
    }),
  ],
  ["import_attachments", one(nothing, (host, _payload, options) => host.importAttachments(options))],
  [
    "save_tool_result",
    one(
      z.strictObject({ tool_call_id: z.string().regex(/^[A-Za-z0-9._-]{1,128}$/), text: z.string() }),
      (host, { tool_call_id, text }, options) => host.saveToolResult(tool_call_id, text, options),
    ),
  ],
]);

/** Names of all actions. */
export const HOST_ACTIONS: readonly string[] = [...ACTIONS.keys()];

export const hostActions: HostActions = {
  async perform(host, { action, payload }, options) {
    const perform = ACTIONS.get(action);
    if (perform !== undefined) return perform(host, payload, options);
    throw new ServiceError("host.not_found", `There is no host action "${action.slice(0, 100)}".`, {
      hint: `Use one of: ${HOST_ACTIONS.join(", ")}.`,
    });
  },
};

function check<Payload extends z.ZodType>(schema: Payload, payload: unknown): z.infer<Payload> {
  const parsed = schema.safeParse(payload);
  if (parsed.success) return parsed.data;
  const faults = z.prettifyError(parsed.error).replaceAll(/\s+/g, " ").slice(0, 500);
  throw new ServiceError("host.invalid_argument", `The payload does not fit the action: ${faults}`);
}

function toModelCall(call: z.infer<typeof modelCallSchema>): ModelCall {
  const { model_id, messages, tools, max_output_tokens, remove_think } = call;
  return {
    modelId: model_id,
    messages,
    tools,
    maxOutputTokens: max_output_tokens,
    removeThink: remove_think,
  };
}
