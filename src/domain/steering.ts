/** A message that a run absorbs while it goes on, and what becomes of it (api §2, runs §14). */
import { z } from "zod";
import { runIdSchema } from "./ids.js";

/**
 * Where a steered message is: it waits for the run; it is in the run's history; it is a run of its own under the same id;
 * it is in the history and nobody answers it, because its queue was cleared; its chat is gone (runs §14.6, §14.7).
 */
export const STEERING_PLACES = ["waiting", "history", "queue", "not_answered", "dropped"] as const;
export const steeringPlaceSchema = z.enum(STEERING_PLACES);
export type SteeringPlace = z.infer<typeof steeringPlaceSchema>;

/** The answer to a message that is steered, and to whoever asks for it by its id. */
export const steeredMessageSchema = z.object({
  id: runIdSchema,
  object: z.literal("run"),
  status: z.literal("steered"),
  absorbed_by: runIdSchema,
  place: steeringPlaceSchema,
  text: z.string(),
  created_at: z.string(),
});
export type SteeredMessage = z.infer<typeof steeredMessageSchema>;

/** What is recorded of a steered message (runs §14.5). */
export const AUDIT_TYPES = [
  "steering.queued",
  "steering.injected",
  "steering.requeued",
  "steering.dropped",
] as const;
export const auditTypeSchema = z.enum(AUDIT_TYPES);
export type AuditType = z.infer<typeof auditTypeSchema>;
