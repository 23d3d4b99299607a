import { describe, expect, it } from "vitest";
import { openMemoryStores } from "../../../src/adapters/memory/open-memory-stores.js";
import { POOL_TENANT } from "../../../src/domain/session.js";
import { FileService } from "../../../src/runs/file-service.js";
import { sweepRetention } from "../../../src/runs/sweep-retention.js";
import { CountingIds } from "../../fakes/counting-ids.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import {
  aFile,
  anEventRecord,
  anIdempotencyRecord,
  anOutcome,
  aRun,
  aSession,
  aTranscriptItem,
} from "../../support/records.js";

const DAY_MS = 86_400_000;
const ATTACHED = {
  index: 0,
  name: "a.txt",
  path: null,
  bytes: 5,
  mime_type: null,
  state: "pending",
  reason: null,
} as const;
const NEVER = new AbortController().signal;

async function aWorld() {
  const clock = new FakeClock();
  const stores = openMemoryStores({ clock });
  const keep = async (text: string): Promise<{ sha256: string; sizeBytes: number }> => {
    await using staging = await stores.blobs.stage();
    await staging.write(Buffer.from(text));
    return await staging.commit();
  };
  const files = new FileService({
    ...stores,
    clock,
    ids: new CountingIds(),
    sniffMimeType: async () => "text/plain",
    linkSecret: "secret",
  });
  const sweep = (): Promise<void> =>
    sweepRetention({ ...stores, files, now: () => clock.now() }, clock.now() - 30 * DAY_MS, {
      signal: NEVER,
    });
  return { clock, stores, keep, sweep };
}

describe("sweepRetention", () => {
  it("removes expired files with their bytes and keeps the others", async () => {
    const { clock, stores, keep, sweep } = await aWorld();
    const old = await keep("old");
    await stores.files.register([aFile({ id: "file_old", ...old, createdAt: clock.now() })]);
    clock.advance(31 * DAY_MS);
    const fresh = await keep("fresh");
    await stores.files.register([aFile({ id: "file_new", ...fresh, createdAt: clock.now() })]);
    await sweep();
    expect(await stores.files.get("main", "file_old")).toBeNull();
    expect(await stores.blobs.size(old.sha256)).toBeNull();
    expect(await stores.blobs.size(fresh.sha256)).toBe(5);
  });

  it("lets go of the attachments of ended runs only, once they are old", async () => {
    const { clock, stores, keep, sweep } = await aWorld();
    const [ended, open] = [await keep("ended"), await keep("open")];
    await stores.runs.create(
      aRun({ id: "run_ended", attachments: [ATTACHED], attachmentSources: [{ kind: "blob", ...ended }] }),
    );
    await stores.runs.create(
      aRun({ id: "run_open", attachments: [ATTACHED], attachmentSources: [{ kind: "blob", ...open }] }),
    );
    const ending = { type: "run.completed" as const, data: {}, timestamp: "2026-01-01T00:00:00.000Z" };
    await stores.runs.finish("run_ended", anOutcome(), () => ending);
    clock.advance(31 * DAY_MS);
    await sweep();
    expect(await stores.blobs.size(ended.sha256)).toBeNull();
    expect(await stores.blobs.size(open.sha256)).toBe(4);
  });

  it("removes old event records, however many there are", async () => {
    const { clock, stores, sweep } = await aWorld();
    for (let i = 0; i < 101; i += 1)
      await stores.eventRecords.append(anEventRecord({ run_id: `run_${i}`, created_at: clock.now() }));
    clock.advance(31 * DAY_MS);
    await stores.eventRecords.append(anEventRecord({ run_id: "run_new", created_at: clock.now() }));
    await sweep();
    const scope = { tenant: "main", conversation: "conversation-1" };
    const page = { direction: "forward" as const, from: null, limit: 9 };
    expect(await stores.eventRecords.page(scope, page)).toMatchObject([{ run_id: "run_new" }]);
  });

  it("removes old runs that have ended, with their events, and never one that is open", async () => {
    const { clock, stores, sweep } = await aWorld();
    const ending = { type: "run.completed" as const, data: {}, timestamp: "2026-01-01T00:00:00.000Z" };
    const createdAt = clock.now();
    for (let i = 0; i < 21; i += 1) {
      await stores.runs.create(aRun({ id: `run_${i}`, createdAt }));
      await stores.runs.finish(`run_${i}`, anOutcome(), () => ending);
    }
    await stores.runs.create(aRun({ id: "run_open", createdAt }));
    clock.advance(31 * DAY_MS);
    await stores.runs.create(aRun({ id: "run_new", createdAt: clock.now() }));
    await stores.runs.finish("run_new", anOutcome(), () => ending);
    await sweep();
    const left = await stores.runs.list("main", { limit: 100 });
    expect(left.map(({ id }) => id)).toEqual(["run_new", "run_open"]);
    expect(await stores.runs.eventsAfter("run_0", 0, 9)).toEqual([]);
  });

  it("keeps the history of a conversation that lives as a whole, and removes a silent one", async () => {
    const { clock, stores, sweep } = await aWorld();
    const said = (conversation: string) =>
      stores.transcripts.append(aTranscriptItem({ conversation, createdAt: clock.now() }));
    await said("living");
    await said("silent");
    clock.advance(31 * DAY_MS);
    await said("living");
    await sweep();
    const page = { direction: "forward" as const, from: null, limit: 9 };
    expect(await stores.transcripts.page("main", "living", page)).toHaveLength(2);
    expect(await stores.transcripts.page("main", "silent", page)).toEqual([]);
  });

  it("removes keys after a day, and sessions that have nothing left", async () => {
    const { clock, stores, sweep } = await aWorld();
    const lastUsedAt = clock.now();
    await stores.idempotency.claim(anIdempotencyRecord({ createdAt: clock.now() }), 0);
    const records = [
      aSession({ lastUsedAt }),
      aSession({ id: "ses_kept", identity: "i2", prepared: true, lastUsedAt }),
      aSession({ id: "ses_busy", identity: "i3", lastUsedAt }),
      aSession({ id: "ses_pool", identity: "i4", tenant: POOL_TENANT, lastUsedAt }),
    ];
    for (const record of records) await stores.sessions.findOrCreate(record);
    clock.advance(31 * DAY_MS);
    await stores.sessions.findOrCreate(aSession({ id: "ses_new", identity: "i5", lastUsedAt: clock.now() }));
    await stores.runs.create(aRun({ session: { id: "ses_busy", key: "k" } }));
    await sweep();
    const left = (await stores.sessions.listAll()).map(({ id }) => id);
    expect(left).toEqual(["ses_kept", "ses_busy", "ses_pool", "ses_new"]);
    const again = anIdempotencyRecord({ runId: "run_2" });
    expect(await stores.idempotency.claim(again, 0)).toEqual(again);
  });

  it("removes bytes that a crash left without a record, but not those that may get one", async () => {
    const { clock, stores, keep, sweep } = await aWorld();
    const orphan = await keep("orphan");
    clock.advance(2 * 3_600_000);
    const fresh = await keep("fresh");
    await sweep();
    expect(await stores.blobs.size(orphan.sha256)).toBeNull();
    expect(await stores.blobs.size(fresh.sha256)).toBe(5);
  });
});
