/** Which receiver wants to be told of what. */
import { createHash } from "node:crypto";
import type { Config } from "../config/config-schema.js";
import type { WebhookConfig } from "../config/webhook-settings.js";
import type { ReceiversOf } from "../ports/webhook-outbox.js";

export function toReceiversOf({ webhooks }: Pick<Config, "webhooks">): ReceiversOf {
  return ({ type, pipeline }) =>
    webhooks
      .filter(({ events }) => events.some((event) => event === type))
      .filter(({ pipelines }) => pipelines === null || pipelines.includes(pipeline))
      .map(receiverId);
}

/** Stays the same while the address does. */
export function receiverId({ url }: WebhookConfig): string {
  return createHash("sha256").update(url).digest("hex").slice(0, 16);
}
