/** Key-values that outlive a run: the words and limits of state and storage (runs §16). */
import { z } from "zod";

export const STATE_SCOPES = ["conversation", "actor", "subject", "runner"] as const;
export const stateScopeSchema = z.enum(STATE_SCOPES);
export type StateScope = z.infer<typeof stateScopeSchema>;

/** What a storage permission opens: values of the runner's package, or of the tenant (runs §2.3). */
export const STORAGE_AREAS = ["plugin", "workspace"] as const;
export const storageAreaSchema = z.enum(STORAGE_AREAS);
export type StorageArea = z.infer<typeof storageAreaSchema>;

/** Bytes of one value as JSON. */
export const MAX_STATE_BYTES = 256 * 1024;
/** Keys of one list. */
export const MAX_STATE_KEYS = 100;
export const MAX_STATE_KEY_CHARS = 256;

/** Which scopes runs of a binding keep state in (runs §16.2). */
export const stateSettingsSchema = z.strictObject({
  enable_state: z.boolean().default(true).describe("Whether the runner may keep state."),
  scopes: z
    .array(stateScopeSchema)
    .nullable()
    .default(null)
    .describe(
      "Scopes that may be used; null = all of them for messages, conversation and actor for other events.",
    ),
});
export type StateSettings = z.infer<typeof stateSettingsSchema>;

/** `conversation_id` and `external.conversation_id` are one entry (runs §16.4). */
export function canonicalStateKey(key: string): string {
  return key === "conversation_id" ? "external.conversation_id" : key;
}

export interface StateKeys {
  readonly keys: readonly string[];
  readonly has_more: boolean;
}
