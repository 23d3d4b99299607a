/** Tells receivers what the outbox holds for them, and settles what became of it (runs §9.6, box §9.2, §9.6). */
import type { DeliveryState } from "../../domain/delivery.js";
import type { FileId } from "../../domain/ids.js";
import type { Clock } from "../../ports/clock.js";
import type { FileStore } from "../../ports/file-store.js";
import type { Logger } from "../../ports/logger.js";
import type { CallOptions } from "../../ports/options.js";
import type { RunStore } from "../../ports/run-store.js";
import type { WebhookCalls, WebhookReceiver } from "../../ports/webhook-calls.js";
import type { WebhookEntry, WebhookOutbox } from "../../ports/webhook-outbox.js";
import { undeliveredError } from "../end-run.js";
import { type AttemptVerdict, judgeAttempt } from "./judge-attempt.js";
import { webhookBody } from "./webhook-body.js";

/** Attempts of one receiver at one time. */
const AT_ONCE = 8;

export interface WebhookSenderDeps {
  readonly outbox: WebhookOutbox;
  readonly runs: RunStore;
  readonly files: FileStore;
  readonly calls: WebhookCalls;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Key of signed links. */
  readonly linkSecret: string;
  readonly publicUrl: string | null;
}

interface Told {
  readonly body: string;
  readonly files: readonly FileId[];
}

export class WebhookSender {
  readonly #deps: WebhookSenderDeps;

  constructor(deps: WebhookSenderDeps) {
    this.#deps = deps;
  }

  /** Settles attempts that the process before did not see the end of. Call it before the first round. */
  async recover(receivers: readonly WebhookReceiver[]): Promise<void> {
    const { outbox } = this.#deps;
    await outbox.keepOnly(receivers.map(({ id }) => id));
    for (const entry of await outbox.listInterrupted()) {
      const told = await this.#read(entry);
      const attempt = { count: entry.attempts, carriesFiles: told !== null && told.files.length > 0 };
      await this.#settle(
        entry,
        told?.files ?? [],
        judgeAttempt({ kind: "unknown", reason: "restart" }, attempt),
      );
    }
  }

  /** One round: what is due for a receiver, several runs at once. An attempt that has begun is seen to its end. */
  async tell(receiver: WebhookReceiver, { signal }: CallOptions): Promise<void> {
    signal.throwIfAborted();
    const due = await this.#deps.outbox.listDue(receiver.id, this.#deps.clock.now(), AT_ONCE);
    const attempts = await Promise.allSettled(due.map((entry) => this.#attempt(receiver, entry)));
    const broken = attempts.find((attempt) => attempt.status === "rejected");
    if (broken !== undefined) throw broken.reason;
  }

  async #attempt(receiver: WebhookReceiver, entry: WebhookEntry): Promise<void> {
    const { outbox, calls, clock } = this.#deps;
    const told = await this.#read(entry);
    if (told === null) return outbox.remove(entry);
    if (!(await outbox.begin(entry))) return;
    const message = { id: `msg_${entry.runId}_${entry.sequence}`, body: told.body };
    const answer = await calls.send(receiver, message, clock.now());
    const attempt = { count: entry.attempts + 1, carriesFiles: told.files.length > 0 };
    const verdict = judgeAttempt(answer, attempt);
    if (verdict.kind !== "taken")
      this.#deps.logger.warn(
        {
          runId: entry.runId,
          host: new URL(receiver.url).host,
          attempt: attempt.count,
          outcome: verdict.kind,
          ...(answer.kind === "answered" ? { status: answer.status } : { reason: answer.reason }),
        },
        "A webhook receiver did not take a message.",
      );
    await this.#settle(entry, told.files, verdict);
  }

  /** @returns null when the event is gone */
  async #read(entry: WebhookEntry): Promise<Told | null> {
    const { runs, linkSecret, publicUrl } = this.#deps;
    const [event] = await runs.eventsAfter(entry.runId, entry.sequence - 1, 1);
    return event === undefined ? null : webhookBody(event, { tenant: entry.tenant, linkSecret, publicUrl });
  }

  async #settle(entry: WebhookEntry, files: readonly FileId[], verdict: AttemptVerdict): Promise<void> {
    const { outbox, clock } = this.#deps;
    if (verdict.kind === "again") return outbox.postpone(entry, clock.now() + verdict.afterMs);
    if (verdict.kind === "taken") await this.#mark(files, "sent", ["pending", "unknown"]);
    if (verdict.kind === "unknown") await this.#mark(files, "unknown", ["pending"]);
    if (verdict.kind === "refused") await this.#refuse(entry, files);
    await outbox.remove(entry);
  }

  async #mark(files: readonly FileId[], state: DeliveryState, from: readonly DeliveryState[]): Promise<void> {
    for (const id of files) for (const old of from) await this.#deps.files.setState(id, state, old);
  }

  /** Who has the file by another way keeps it: only what nobody took has failed (box §9.6). */
  async #refuse({ tenant, runId }: WebhookEntry, files: readonly FileId[]): Promise<void> {
    await this.#mark(files, "failed", ["pending", "unknown"]);
    const records = await this.#deps.files.listByRun(tenant, runId);
    const failed = records.find(({ id, state }) => files.includes(id) && state === "failed");
    if (failed !== undefined)
      await this.#deps.runs.failDelivered(
        runId,
        undeliveredError(failed, "A webhook receiver refused the message."),
      );
  }
}
