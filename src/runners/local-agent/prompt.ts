/** The prompt that stands before everything else (local-agent §2.1–§2.3). */
import { z } from "zod";
import { ServiceError } from "../../domain/errors.js";
import { type Message, messageSchema } from "../../domain/message.js";
import type { RunContext } from "../../domain/run-context.js";
import type { CallOptions } from "../../ports/options.js";
import type { RunHost } from "../../ports/run-host.js";

/** Supported parts, passed on with whatever else they carry. */
const partSchema = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text"), text: z.string() }),
  z.looseObject({ type: z.literal("image_url"), image_url: z.looseObject({ url: z.string() }) }),
]);
const entrySchema = messageSchema.extend({ content: z.union([z.string(), z.array(partSchema)]) });

/** The host's effective prompt where there is one, else the configured one. */
export async function readPrompt(
  context: RunContext,
  { host, configured }: { readonly host: RunHost; readonly configured: readonly unknown[] },
  options: CallOptions,
): Promise<readonly Message[]> {
  const effective = context.context.available_apis.prompt_get ? await host.getPrompt(options) : [];
  return effective.length > 0 ? effective : configured.map(readEntry);
}

/** @throws ServiceError `runner.invalid_prompt` naming the entry: nothing is dropped silently (§2.2) */
function readEntry(entry: unknown, index: number): Message {
  const parsed = entrySchema.safeParse(entry);
  if (parsed.success) return parsed.data;
  throw new ServiceError(
    "runner.invalid_prompt",
    `prompt[${index}] is not a message that a model can be sent.`,
    {
      hint: "Give each entry a role (system, user, assistant) and as content a text or a list of text and image_url parts.",
      details: { index },
    },
  );
}

/** @param now Unix milliseconds */
export function dateLine(now: number): Message {
  const date = new Date(now).toISOString().slice(0, 10);
  return {
    role: "system",
    content: `Today's date is ${date} (UTC). The user's time zone may differ. Verify facts that depend on the current time.`,
  };
}

export const OLDER_LEFT_OUT: Message = {
  role: "system",
  content: "The conversation is longer than what follows: earlier messages are not included.",
};
