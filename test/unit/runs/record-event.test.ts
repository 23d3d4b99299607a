import { describe, expect, it } from "vitest";
import { openMemoryStores } from "../../../src/adapters/memory/open-memory-stores.js";
import { SecretMask } from "../../../src/lib/secret-mask.js";
import { buildTrigger } from "../../../src/runs/build-trigger.js";
import { recordEvent } from "../../../src/runs/record-event.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import { anEvent } from "../../support/builders.js";
import { aRun, aTranscriptItem } from "../../support/records.js";

const SCOPE = { tenant: "main", conversation: "conversation-1" };
const ALL = { direction: "forward" as const, from: null, limit: 9 };

function aDesk(secrets: readonly string[] = []) {
  const stores = openMemoryStores({ clock: new FakeClock() });
  return { ...stores, mask: new SecretMask(secrets) };
}

describe("recordEvent", () => {
  it("records the event and the message of a user, and tells where the run stands", async () => {
    const desk = aDesk();
    await desk.transcripts.append(aTranscriptItem({ runId: "run_0" }));
    const place = await recordEvent(desk, aRun(), 2_000);
    expect(place).toEqual({ eventSeq: 1, transcriptSeq: 2, latestSeq: 2, hasHistory: true });
    expect(await desk.eventRecords.page(SCOPE, ALL)).toMatchObject([
      { sequence: 1, run_id: "run_1", event_id: "host:1", summary: "Plot the table." },
    ]);
    expect(await desk.transcripts.page("main", "conversation-1", ALL)).toMatchObject([
      { run_id: "run_0" },
      { run_id: "run_1", event_id: "host:1", message: { role: "user", content: "Plot the table." } },
    ]);
  });

  it("never writes another event as a message of the user", async () => {
    const desk = aDesk();
    const trigger = buildTrigger(anEvent(), { id: "run_1", chat: null, createdAt: 1_000 });
    const place = await recordEvent(desk, aRun({ trigger }), 2_000);
    expect(place).toEqual({ eventSeq: 1, transcriptSeq: null, latestSeq: null, hasHistory: false });
    expect(await desk.transcripts.page("main", "conversation-1", ALL)).toEqual([]);
  });

  it("masks secrets in the record", async () => {
    const desk = aDesk(["sk-very-secret"]);
    await recordEvent(
      desk,
      aRun({ input: { text: "use sk-very-secret", contents: [], attachments: [] } }),
      1,
    );
    expect(await desk.eventRecords.page(SCOPE, ALL)).toMatchObject([{ summary: "use [redacted]" }]);
  });

  it("writes no message where the record fails", async () => {
    const desk = aDesk();
    const eventRecords = { append: () => Promise.reject(new Error("The store is gone.")) };
    const broken = { ...desk, eventRecords: Object.assign(desk.eventRecords, eventRecords) };
    await expect(recordEvent(broken, aRun(), 1)).rejects.toThrow("gone");
    expect(await desk.transcripts.page("main", "conversation-1", ALL)).toEqual([]);
  });
});
