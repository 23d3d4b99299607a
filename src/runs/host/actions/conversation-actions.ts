/** `get_prompt`, `steering_pull`, `history_…`, `event_…`, and the images of the message. */
import { z } from "zod";
import { messageSchema } from "../../../domain/message.js";
import type { OwnPlace } from "../../../ports/run-host.js";
import { type HostActionTable, nothing, one } from "./define-action.js";

/** A conversation or thread that is named is checked against the run's own (runs §17.1). */
const pageSchema = z.strictObject({
  cursor: z.string().max(200).optional(),
  limit: z.int().positive().optional(),
  conversation_id: z.string().max(512).optional(),
  thread_id: z.string().max(512).nullable().optional(),
});
const direction = z.enum(["backward", "forward"]).default("backward");
const contentChars = z.int().positive().optional();

export const CONVERSATION_ACTIONS: HostActionTable = {
  get_prompt: one(nothing, (host, _payload, options) => host.getPrompt(options)),
  steering_pull: one(
    z.strictObject({
      mode: z.enum(["all", "one-at-a-time"]).default("all"),
      after: messageSchema.optional(),
    }),
    async (host, request, options) =>
      (await host.pullSteering(request, options)).map(({ id, text, createdAt }) => ({
        id,
        text,
        created_at: createdAt,
      })),
  ),
  history_page: one(
    pageSchema.extend({ direction, content_chars: contentChars }),
    (host, { content_chars, ...request }, options) =>
      host.historyPage({ ...toPageRequest(request), contentChars: content_chars }, options),
  ),
  history_search: one(
    pageSchema.extend({ text: z.string(), content_chars: contentChars }),
    (host, { content_chars, ...request }, options) =>
      host.historySearch({ ...toPageRequest(request), contentChars: content_chars }, options),
  ),
  event_get: one(z.strictObject({ event_id: z.string().max(200) }), (host, { event_id }, options) =>
    host.eventGet(event_id, options),
  ),
  event_page: one(pageSchema.extend({ direction }), (host, request, options) =>
    host.eventPage(toPageRequest(request), options),
  ),
  read_image: one(
    z.strictObject({ reference: z.string().max(200), max_bytes: z.int().positive() }),
    async (host, { reference, max_bytes }, options) => {
      const image = await host.readImage(reference, max_bytes, options);
      if (image === null) return null;
      return { mime_type: image.mimeType, base64: image.base64, bytes: image.sizeBytes };
    },
  ),
};

function toPageRequest<Request extends Pick<z.infer<typeof pageSchema>, "conversation_id" | "thread_id">>({
  conversation_id: conversationId,
  thread_id: threadId,
  ...page
}: Request): Omit<Request, "conversation_id" | "thread_id"> & OwnPlace {
  return { ...page, conversationId, threadId };
}
