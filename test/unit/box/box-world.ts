/** Everything a box needs, in memory, for tests of the parts of the box service. */
import { MemorySessionStore } from "../../../src/adapters/memory/memory-session-store.js";
import type { BoxServiceSettings } from "../../../src/box/box-parts.js";
import { resolveBoxSettings } from "../../../src/box/box-policy.js";
import { OpenBoxes } from "../../../src/box/open-boxes.js";
import { RecentErrors } from "../../../src/box/recent-errors.js";
import type { SessionId } from "../../../src/domain/ids.js";
import type { SessionRecord } from "../../../src/domain/session.js";
import { KeyedLock } from "../../../src/lib/keyed-lock.js";
import { CountingIds } from "../../fakes/counting-ids.js";
import { FakeBoxBackend } from "../../fakes/fake-box-backend.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import { KeptLogger } from "../../fakes/kept-logger.js";

export const ENDLESS = { signal: new AbortController().signal };
export const SETTINGS = resolveBoxSettings("default", { image: "berth-box:slim" });
/** Of a service that rests no box by pausing and keeps none ready. */
export const SERVICE_SETTINGS: BoxServiceSettings = {
  enabled: true,
  settings: SETTINGS,
  profile: "default",
  maxBoxes: 3,
  pauseAfterSec: 0,
  idleTtlSec: 300,
  removeAfterSec: 0,
  warmPool: 0,
  workspaceTtlDays: 14,
};

export const aSession = (change: Partial<SessionRecord> = {}): SessionRecord => ({
  id: "ses_a",
  tenant: "main",
  identity: "0123456789abcdef0123456789abcdef",
  key: "person_42",
  engine: "fake",
  uid: 30_001,
  volume: "berth-ws-a",
  container: null,
  prepared: false,
  settings: null,
  untold: [],
  createdAt: 0,
  lastUsedAt: 0,
  ...change,
});

export function aWorld(maxBoxes = 3) {
  const clock = new FakeClock();
  return {
    backend: new FakeBoxBackend(),
    sessions: new MemorySessionStore(),
    boxes: new OpenBoxes({ clock, maxBoxes }),
    clock,
    ids: new CountingIds(),
    logger: new KeptLogger(),
    locks: new KeyedLock<SessionId>(),
    creations: new KeyedLock<"session">(),
    leases: new Set<() => Promise<void>>(),
    errors: new RecentErrors(clock),
    rest: async () => {},
    pool: { give: async () => null },
  };
}
