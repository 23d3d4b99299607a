/** `get_prompt`, `history_page`, and the images of the message. */
import { z } from "zod";
import { type HostActionTable, nothing, one } from "./define-action.js";

export const CONVERSATION_ACTIONS: HostActionTable = {
  get_prompt: one(nothing, (host, _payload, options) => host.getPrompt(options)),
  history_page: one(
    z.strictObject({
      direction: z.enum(["backward", "forward"]).default("backward"),
      cursor: z.string().max(200).optional(),
      limit: z.int().positive().optional(),
      content_chars: z.int().positive().optional(),
    }),
    (host, { content_chars: contentChars, ...request }, options) =>
      host.historyPage({ ...request, contentChars }, options),
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
