/** Webhooks: who is told of what, and the rounds that tell them. */
import { GuardedHttp } from "../adapters/outbound/guarded-http.js";
import { StandardWebhookCalls } from "../adapters/webhooks/standard-webhook-calls.js";
import type { Config } from "../config/config-schema.js";
import { toServiceError } from "../domain/errors.js";
import type { CleanupStack } from "../lib/cleanup-stack.js";
import { PeriodicTask } from "../lib/periodic-task.js";
import { WebhookSender } from "../runs/webhooks/webhook-sender.js";
import type { Base } from "./open-base.js";
import { receiverId } from "./webhook-receivers.js";

const ROUND_MS = 250;
/** Of one attempt. */
const ATTEMPT_MS = 10_000;

/** Settles what the process before left, then tells each receiver in rounds of its own: a slow one delays no other. */
export async function startWebhooks(config: Config, base: Base, life: CleanupStack): Promise<void> {
  const http = new GuardedHttp({ allowedPrivateHosts: config.outbound.allowed_private_hosts });
  const sender = new WebhookSender({
    ...base,
    ...base.stores,
    outbox: base.stores.webhooks,
    calls: new StandardWebhookCalls({ http, timeoutMs: ATTEMPT_MS }),
    publicUrl: config.server.public_url,
  });
  const receivers = config.webhooks.map((webhook) => ({ ...webhook, id: receiverId(webhook) }));
  await sender.recover(receivers);
  for (const receiver of receivers)
    life
      .use(
        new PeriodicTask({
          everyMs: ROUND_MS,
          work: (signal) => sender.tell(receiver, { signal }),
          onError: (error) =>
            base.logger.error({ code: toServiceError(error).code }, "A webhook could not be settled.", error),
        }),
      )
      .start();
}
