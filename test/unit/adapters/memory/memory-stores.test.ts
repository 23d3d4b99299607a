import { describe, expect, it } from "vitest";
import { MemoryBlobStore } from "../../../../src/adapters/memory/memory-blob-store.js";
import { openMemoryStores } from "../../../../src/adapters/memory/open-memory-stores.js";
import { describeBlobStore } from "../../../contracts/blob-store.js";
import { describeEventStore } from "../../../contracts/event-store.js";
import { describeFileStore } from "../../../contracts/file-store.js";
import { describeGrantStore } from "../../../contracts/grant-store.js";
import { describeIdempotencyStore } from "../../../contracts/idempotency-store.js";
import { describeRunStore } from "../../../contracts/run-store.js";
import { describeSessionStore } from "../../../contracts/session-store.js";
import { describeStateStore } from "../../../contracts/state-store.js";
import { describeSteeringStore } from "../../../contracts/steering-store.js";
import { describeTranscriptStore } from "../../../contracts/transcript-store.js";
import { describeWebhookOutbox } from "../../../contracts/webhook-outbox.js";
import { FakeClock } from "../../../fakes/fake-clock.js";
import { opened } from "../../../support/opened.js";

const stores = () => openMemoryStores({ clock: new FakeClock() });

describeRunStore("memory", async () => opened(stores().runs));
describeSessionStore("memory", async () => opened(stores().sessions));
describeSteeringStore("memory", async () => opened(stores()));
describeTranscriptStore("memory", async () => opened(stores().transcripts));
describeEventStore("memory", async () => opened(stores().eventRecords));
describeFileStore("memory", async () => opened(stores()));
describeIdempotencyStore("memory", async () => opened(stores().idempotency));
describeGrantStore("memory", async () => opened(stores().grantRevisions));
describeStateStore("memory", async () => opened(stores().state));
describeWebhookOutbox("memory", async (receiversOf) =>
  opened(openMemoryStores({ clock: new FakeClock(), receiversOf })),
);
describeBlobStore("memory", async () => {
  const clock = new FakeClock();
  const blobs = new MemoryBlobStore({ clock });
  return opened({ blobs, setTime: (now: number) => clock.set(now) });
});

describe("MemoryBlobStore", () => {
  it("refuses bytes above its capacity as a full disk does", async () => {
    const blobs = new MemoryBlobStore({ clock: new FakeClock(), capacityBytes: 4 });
    await using staging = await blobs.stage();
    await staging.write(Buffer.from("1234"));
    await expect(staging.write(Buffer.from("5"))).rejects.toMatchObject({ code: "box.quota" });
  });
});
