import { describe, expect, it } from "vitest";
import { openMemoryStores } from "../../../../src/adapters/memory/open-memory-stores.js";
import type { WebhookAnswer, WebhookMessage } from "../../../../src/ports/webhook-calls.js";
import { terminalEvent } from "../../../../src/runs/end-run.js";
import { WebhookSender } from "../../../../src/runs/webhooks/webhook-sender.js";
import { FakeClock } from "../../../fakes/fake-clock.js";
import { KeptLogger } from "../../../fakes/kept-logger.js";
import { aFile, anOutcome, aRun } from "../../../support/records.js";

const receiver = { id: "one", url: "https://receiver.example/hook", secret: "s".repeat(24) };
const { signal } = new AbortController();

/** A run that has ended with one file, and a receiver that answers as it is told. */
async function ended(answers: WebhookAnswer[]) {
  const clock = new FakeClock();
  clock.set(1_000_000);
  const stores = openMemoryStores({
    clock,
    receiversOf: ({ type }) => (type === "run.completed" ? ["one"] : []),
  });
  await stores.runs.create(aRun());
  await stores.files.register([aFile({ runId: "run_1" })]);
  const files = await stores.files.listByRun("main", "run_1");
  await stores.runs.finish("run_1", anOutcome(), (record) => terminalEvent(record, files));
  const messages: WebhookMessage[] = [];
  const sender = new WebhookSender({
    ...stores,
    outbox: stores.webhooks,
    clock,
    logger: new KeptLogger(),
    linkSecret: "secret",
    publicUrl: "https://berth.example/",
    calls: {
      send: async (_receiver, message) => {
        messages.push(message);
        return answers.shift() ?? { kind: "answered", status: 200 };
      },
    },
  });
  const round = async (): Promise<void> => {
    clock.set(clock.now() + 86_400_000);
    await sender.tell(receiver, { signal });
  };
  const state = async () => (await stores.files.listByRun("main", "run_1"))[0]?.state;
  return { stores, sender, messages, round, state };
}

describe("WebhookSender", () => {
  it("sends the run object with signed absolute links once, and marks its files as sent", async () => {
    const { messages, round, state } = await ended([]);
    await round();
    await round();
    expect(messages).toHaveLength(1);
    expect(messages[0]?.body).toContain("https://berth.example/v1/links/file_");
    expect(await state()).toBe("sent");
  });

  it("repeats the same message when the first surely did not arrive", async () => {
    const { messages, round, state } = await ended([{ kind: "not_sent", reason: "ECONNREFUSED" }]);
    await round();
    expect(await state()).toBe("pending");
    await round();
    expect(messages).toHaveLength(2);
    expect(messages[1]).toEqual(messages[0]);
  });

  it("sends no file again by itself after an outcome that is not known", async () => {
    const { messages, round, state } = await ended([{ kind: "answered", status: 500 }]);
    await round();
    await round();
    expect(messages).toHaveLength(1);
    expect(await state()).toBe("unknown");
  });

  it("takes an attempt that the process did not survive as unknown", async () => {
    const { stores, sender, messages, round, state } = await ended([]);
    const [entry] = await stores.webhooks.listDue("one", Number.MAX_SAFE_INTEGER, 1);
    if (entry === undefined) throw new Error("There is no entry.");
    await stores.webhooks.begin(entry);
    await sender.recover([receiver]);
    await round();
    expect(messages).toHaveLength(0);
    expect(await state()).toBe("unknown");
  });

  it("fails the run when a receiver refuses its file", async () => {
    const { stores, round, state } = await ended([{ kind: "answered", status: 413 }]);
    await round();
    expect(await state()).toBe("failed");
    expect(await stores.runs.get("main", "run_1")).toMatchObject({
      state: "failed",
      error: { code: "delivery.failed" },
    });
  });
});
