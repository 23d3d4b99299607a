/** What a receiver is told: the event as it is stored, with addresses that work without a key. Pure. */
import { z } from "zod";
import { type FileId, fileIdSchema } from "../../domain/ids.js";
import type { RunEvent } from "../../domain/run.js";
import { LINK_TTL, signLink } from "../signed-link.js";

const fileSchema = z.looseObject({ id: fileIdSchema });
const endSchema = z.looseObject({ deliveries: z.array(fileSchema).default([]) });

export interface LinkPlace {
  readonly tenant: string;
  readonly linkSecret: string;
  /** Where clients reach the service; null = links are paths. */
  readonly publicUrl: string | null;
}

/**
 * The same in every attempt: links expire seven days after the event.
 * @returns `{type, timestamp, data}` as JSON, and the files it names
 */
export function webhookBody(
  event: RunEvent,
  place: LinkPlace,
): { readonly body: string; readonly files: readonly FileId[] } {
  const { type, timestamp } = event;
  const expiresAt = Math.floor(Date.parse(timestamp) / 1000) + LINK_TTL.max;
  const withLink = (file: z.infer<typeof fileSchema>): Record<string, unknown> => {
    const token = signLink(place.linkSecret, { tenant: place.tenant, fileId: file.id, expiresAt });
    const address = place.publicUrl?.replace(/\/+$/, "") ?? "";
    return { ...file, url: `${address}/v1/links/${file.id}?token=${token}` };
  };
  if (type === "delivery.created") {
    const file = fileSchema.parse(event.data);
    const data = { ...withLink(file), run_id: event.run_id };
    return { body: JSON.stringify({ type, timestamp, data }), files: [file.id] };
  }
  const end = endSchema.parse(event.data);
  const data = { ...end, deliveries: end.deliveries.map(withLink) };
  return { body: JSON.stringify({ type, timestamp, data }), files: end.deliveries.map(({ id }) => id) };
}
