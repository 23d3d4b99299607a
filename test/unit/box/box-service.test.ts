import { setMaxListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { MemorySessionStore } from "../../../src/adapters/memory/memory-session-store.js";
import type { BoxLease } from "../../../src/box/box-lease.js";
import { BOX_NOTES } from "../../../src/box/box-notes.js";
import type { BoxServiceDeps, BoxServiceSettings } from "../../../src/box/box-parts.js";
import { resolveBoxSettings } from "../../../src/box/box-policy.js";
import { BoxService } from "../../../src/box/box-service.js";
import { renderReuseKey } from "../../../src/box/reuse-key.js";
import type { BoxSettings } from "../../../src/domain/box.js";
import { ServiceError } from "../../../src/domain/errors.js";
import type { RunId } from "../../../src/domain/ids.js";
import type { SessionRecord } from "../../../src/domain/session.js";
import type { BoxPlace } from "../../../src/ports/box-backend.js";
import type { CallOptions } from "../../../src/ports/options.js";
import { CountingIds } from "../../fakes/counting-ids.js";
import { FakeBoxBackend } from "../../fakes/fake-box-backend.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import { KeptLogger } from "../../fakes/kept-logger.js";
import { proves } from "../../support/proves.js";

const ENDLESS: CallOptions = { signal: new AbortController().signal };
setMaxListeners(0, ENDLESS.signal);
const SETTINGS = resolveBoxSettings("default", { image: "berth-box:slim" });
const DAY_MS = 86_400_000;

/** Does what a test wants before the call goes on to the engine; the test may wait or fail there. */
class WatchedBackend extends FakeBoxBackend {
  onStart: (place: BoxPlace) => Promise<void> = async () => {};
  onOpen: (place: BoxPlace) => Promise<void> = async () => {};
  onRemove: (name: string) => Promise<void> = async () => {};
  onList: () => Promise<void> = async () => {};

  override async start(place: BoxPlace, settings: BoxSettings, options: CallOptions) {
    await this.onStart(place);
    return super.start(place, settings, options);
  }

  override async open(place: BoxPlace, options: CallOptions) {
    await this.onOpen(place);
    return super.open(place, options);
  }

  override async removeContainer(name: string, options: CallOptions) {
    await this.onRemove(name);
    await super.removeContainer(name, options);
  }

  override async listOwned(options: CallOptions) {
    await this.onList();
    return super.listOwned(options);
  }
}

async function refuse(): Promise<never> {
  await Promise.resolve();
  throw new Error("The engine was asked.");
}

/** A promise that a test settles. */
class Gate {
  readonly passed: Promise<void>;
  open: () => void = () => {};

  constructor() {
    this.passed = new Promise((resolve) => {
      this.open = resolve;
    });
  }
}

let backend: WatchedBackend;
let sessions: MemorySessionStore;
let clock: FakeClock;
let logger: KeptLogger;
let ids: CountingIds;
let services: BoxService[];
let service: BoxService;

beforeEach(() => {
  backend = new WatchedBackend();
  sessions = new MemorySessionStore();
  clock = new FakeClock();
  logger = new KeptLogger();
  ids = new CountingIds();
  services = [];
  service = aService();
});

afterEach(async () => {
  for (const each of services) await each[Symbol.asyncDispose]();
  vi.useRealTimers();
});

function aService(change: Partial<BoxServiceSettings> = {}, more: Partial<BoxServiceDeps> = {}): BoxService {
  const made = new BoxService(
    { backend, sessions, clock, ids, logger, ...more },
    {
      enabled: true,
      settings: SETTINGS,
      profile: "default",
      maxBoxes: 3,
      pauseAfterSec: 0,
      idleTtlSec: 300,
      removeAfterSec: 0,
      warmPool: 0,
      workspaceTtlDays: 14,
      ...change,
    },
  );
  services.push(made);
  return made;
}

const session = (chat: string, tenant = "main"): Promise<SessionRecord> =>
  service.findOrCreateSession(tenant, renderReuseKey("{chat}", { chat }, tenant), ENDLESS);

let runs = 0;
const bind = async (chat: string | SessionRecord, options: Parameters<BoxService["bind"]>[2] = ENDLESS) => {
  runs += 1;
  const runId: RunId = `run_${runs}`;
  return service.bind(typeof chat === "string" ? await session(chat) : chat, runId, options);
};

const boxOf = async (template: string, variables: Record<string, string>) => {
  const key = renderReuseKey(template, variables, "main");
  await using lease = await bind(await service.findOrCreateSession("main", key, ENDLESS));
  return lease.session.container;
};

const use = async (chat: string, work: (lease: BoxLease) => Promise<void> = async () => {}) => {
  await using lease = await bind(chat);
  await work(lease);
  return { notes: lease.notes, session: lease.session };
};

const put = async (lease: BoxLease, path: string) => {
  const bytes = Buffer.from("kept");
  const content = (async function* () {
    yield bytes;
  })();
  await lease.handle.files.write([{ path, mode: "create", sizeBytes: bytes.length, content }], ENDLESS);
};
const has = async (lease: BoxLease, path: string): Promise<boolean> => {
  const [stat] = await lease.handle.files.stat([path], ENDLESS);
  return stat !== undefined && "entry" in stat;
};
const record = async (id: SessionRecord["id"]) => {
  const found = await sessions.get("main", id);
  if (found === null) throw new Error("no record");
  return found;
};
const containers = async () => (await backend.listOwned(ENDLESS)).containers.map(({ name }) => name);
const volumes = async () => (await backend.listOwned(ENDLESS)).volumes;

/** Lets so much time pass, with the loops of the service at work. */
const pass = async (seconds: number) => {
  for (let left = seconds; left > 0; left -= 10) {
    clock.advance(10_000);
    await vi.advanceTimersByTimeAsync(10_000);
  }
};

describe("sessions", () => {
  it("are records only: nothing is created on the engine", async () => {
    const { id, key, container, volume } = await session("42");
    expect([id.startsWith("ses_"), key, container]).toEqual([true, "42", null]);
    expect(volume).toMatch(/^berth-ws-[0-9a-f]{20}-[0-9a-f]{8}$/);
    expect(backend.counts).toMatchObject({ volumesCreated: 0, containersCreated: 0 });
  });

  it("are one for one key of one tenant, however many ask at once, and never shared between keys and tenants", async () => {
    const same = await Promise.all(Array.from({ length: 20 }, () => session("42")));
    const others = await Promise.all([session("43"), session("42", "other"), session("44")]);
    expect(new Set(same.map(({ id }) => id)).size).toBe(1);
    const all = [...same.slice(0, 1), ...others];
    expect(new Set(all.map(({ id }) => id)).size).toBe(4);
    expect(all.map(({ uid }) => uid)).toEqual([30_001, 30_002, 30_003, 30_004]);
  });

  it("are those of the required key only, where one is required", async () => {
    service = aService({ requiredReuseKey: "global" });
    await expect(session("42")).rejects.toThrow(expect.objectContaining({ code: "box.validation" }));
    expect((await service.status(ENDLESS)).required_reuse_key).toBe("global");
    const key = renderReuseKey("{global}", {}, "main");
    expect((await service.findOrCreateSession("main", key, ENDLESS)).key).toBe("global");
  });

  it("of another tenant are not found", async () => {
    const { id } = await session("42");
    expect((await service.getSession("main", id)).id).toBe(id);
    await expect(service.getSession("other", id)).rejects.toThrow(
      expect.objectContaining({ code: "session.not_found" }),
    );
  });
});

describe("bind", () => {
  it("gives a first run an empty inbox and outbox of its own in a new box", async () => {
    await using lease = await bind("42");
    expect(lease).toMatchObject({
      inbox: `/workspace/inbox/run_${runs}`,
      outbox: `/workspace/outbox/run_${runs}`,
      notes: [],
      settings: SETTINGS,
    });
    expect(await has(lease, lease.inbox)).toBe(true);
    expect(await record(lease.session.id)).toMatchObject({
      prepared: true,
      container: lease.session.container,
    });
    expect(lease.session.container).toMatch(/^berth-[0-9a-f]{20}-[0-9a-f]{8}$/);
  });

  it("makes one box of one key, however many bind at once", async () => {
    proves("KEY-13");
    const leases = await Promise.all(Array.from({ length: 20 }, () => bind("42")));
    expect(new Set(leases.map((lease) => lease.session.id)).size).toBe(1);
    expect(new Set(leases.map((lease) => lease.session.container)).size).toBe(1);
    expect(backend.counts).toMatchObject({
      volumesCreated: 1,
      preparations: 1,
      containersCreated: 1,
      starts: 1,
    });
    await Promise.all(leases.map((lease) => lease[Symbol.asyncDispose]()));
  });

  it("shares a box between chats under {global}, and gives each run its own under {run_id}", async () => {
    proves("KEY-02", "KEY-04");
    const chats = [
      await boxOf("{global}", { launcher_id: "1" }),
      await boxOf("{global}", { launcher_id: "2" }),
    ];
    expect(new Set(chats).size).toBe(1);
    const each = [await boxOf("{run_id}", { run_id: "run_1" }), await boxOf("{run_id}", { run_id: "run_2" })];
    expect(new Set([...chats, ...each]).size).toBe(3);
  });

  it("removes what a run of the same id left in its directories", async () => {
    proves("IN-09");
    const known = await session("42");
    const first = await service.bind(known, "run_again", ENDLESS);
    await put(first, `${first.inbox}/0/old.txt`);
    await put(first, `${first.outbox}/old.txt`);
    await first[Symbol.asyncDispose]();
    await using second = await service.bind(known, "run_again", ENDLESS);
    expect(await has(second, second.inbox)).toBe(true);
    expect(await has(second, `${second.inbox}/0/old.txt`)).toBe(false);
    expect(await has(second, `${second.outbox}/old.txt`)).toBe(false);
  });

  it("records a container before it is made", async () => {
    const { id } = await session("42");
    let seen: string | null = null;
    backend.onStart = async (place) => {
      seen = (await record(id)).container;
      expect(seen).toBe(place.container);
    };
    await use("42");
    expect(seen).toMatch(/^berth-/);
  });

  it("starts different boxes in parallel", async () => {
    proves("BOX-07");
    const gate = new Gate();
    const starting: string[] = [];
    const both = new Gate();
    backend.onStart = async ({ sessionId }) => {
      starting.push(sessionId);
      if (starting.length === 2) both.open();
      await gate.passed;
    };
    const work = Promise.all([use("1"), use("2")]);
    await both.passed;
    gate.open();
    await work;
    expect(new Set(starting).size).toBe(2);
  });

  it("uses a running box again and says nothing was lost", async () => {
    await use("42", (lease) => put(lease, "/workspace/a.txt"));
    const second = await use("42", async (lease) => expect(await has(lease, "/workspace/a.txt")).toBe(true));
    expect(second.notes).toEqual([]);
    expect(backend.counts.containersCreated).toBe(1);
  });

  it("replaces a box that vanished under a new name, on the same workspace, and says what is gone", async () => {
    const first = await use("42", (lease) => put(lease, "/workspace/a.txt"));
    backend.killContainer(first.session.container ?? "");
    const second = await use("42", async (lease) => expect(await has(lease, "/workspace/a.txt")).toBe(true));
    expect(second.notes).toEqual([BOX_NOTES.vanished]);
    expect(second.session.container).not.toBe(first.session.container);
    expect(second.session.volume).toBe(first.session.volume);
  });

  it("starts a stopped box, and says that its processes are gone", async () => {
    const { session: before } = await use("42");
    await backend.stop(before.container ?? "", ENDLESS);
    const second = await use("42");
    expect(second.notes).toEqual([BOX_NOTES.restarted]);
    expect(second.session.container).toBe(before.container);
  });

  it("sees that a box was started again by somebody else", async () => {
    const { session: before } = await use("42");
    await backend.stop(before.container ?? "", ENDLESS);
    const place = { ...before, sessionId: before.id, container: before.container ?? "" };
    await backend.start(place, SETTINGS, ENDLESS);
    expect((await use("42")).notes).toEqual([BOX_NOTES.restarted]);
  });

  it("wakes a paused box without a loss", async () => {
    const { session: before } = await use("42");
    await backend.pause(before.container ?? "", ENDLESS);
    expect((await use("42")).notes).toEqual([]);
  });

  it("replaces a box that cannot be woken", async () => {
    const { session: before } = await use("42");
    await backend.stop(before.container ?? "", ENDLESS);
    backend.onStart = async ({ container }) => {
      if (container === before.container) throw new Error("wedged");
    };
    expect((await use("42")).notes).toEqual([BOX_NOTES.replaced]);
    expect(await containers()).toHaveLength(1);
  });

  it("replaces a box that does not answer, but not one that another run uses", async () => {
    const { session: before } = await use("42");
    backend.onOpen = async ({ container }) => {
      if (container === before.container) throw new Error("no helper");
    };
    expect((await use("42")).notes).toEqual([BOX_NOTES.replaced]);
    await using _held = await bind("42");
    backend.onOpen = async () => {
      throw new Error("no helper");
    };
    await expect(bind("42")).rejects.toThrow("no helper");
    expect(await containers()).toHaveLength(1);
  });

  it("makes an empty workspace where the engine lost it, and says so", async () => {
    const { session: before } = await use("42", (lease) => put(lease, "/workspace/a.txt"));
    backend.killContainer(before.container ?? "");
    await backend.removeWorkspace(before.volume, ENDLESS);
    const second = await use("42", async (lease) => expect(await has(lease, "/workspace/a.txt")).toBe(false));
    expect(second.notes).toEqual([BOX_NOTES.workspace_lost]);
  });

  it("leaves nothing behind of a start that failed, and the next run starts anew", async () => {
    backend.onStart = async () => {
      throw new Error("no such runtime");
    };
    await expect(bind("42")).rejects.toThrow("no such runtime");
    expect(await record((await session("42")).id)).toMatchObject({ container: null, settings: null });
    expect(await containers()).toEqual([]);
    expect((await service.status(ENDLESS)).used).toBe(0);
    backend.onStart = async () => {};
    expect((await use("42")).notes).toEqual([]);
  });

  it("keeps the name of what it could not clear away, so that it is met again", async () => {
    backend.onStart = async () => {
      throw new Error("broken");
    };
    backend.onRemove = async () => {
      throw new Error("wedged");
    };
    await expect(bind("42")).rejects.toThrow("broken");
    expect((await record((await session("42")).id)).container).toMatch(/^berth-/);
    backend.onStart = async () => {};
    backend.onRemove = async () => {};
    // Nobody has been in it, and nobody misses anything.
    expect((await use("42")).notes).toEqual([]);
    expect(await containers()).toHaveLength(1);
  });

  it("gives up when the run is cancelled, and clears away", async () => {
    const cancel = new AbortController();
    backend.onStart = async () => cancel.abort(new Error("cancelled"));
    await expect(bind("42", { signal: cancel.signal })).rejects.toThrow("cancelled");
    expect(await containers()).toEqual([]);
    expect((await service.status(ENDLESS)).used).toBe(0);
  });

  it("says that a box that ends right after its start is not ready", async () => {
    backend.onOpen = async () => {};
    const inspect = backend.inspect.bind(backend);
    backend.inspect = async (name, options) => {
      await inspect(name, options);
      return null;
    };
    await expect(bind("42")).rejects.toThrow(expect.objectContaining({ code: "box.readiness" }));
  });

  it("makes no directories in a workspace that is read-only", async () => {
    const settings = resolveBoxSettings("offline_readonly", { image: "berth-box:slim" });
    await using lease = await bind("42", { ...ENDLESS, settings });
    expect(await has(lease, lease.inbox)).toBe(false);
  });

  it("logs what fails when a lease is given back, and releases the box all the same", async () => {
    const lease = await bind("42");
    sessions.noteUse = async () => {
      throw new Error("database is locked");
    };
    await lease[Symbol.asyncDispose]();
    await lease[Symbol.asyncDispose]();
    expect(logger.lines.filter(({ level }) => level === "warn")).toHaveLength(1);
  });
});

describe("uids", () => {
  it("give way to another service's container, and the workspace is prepared for the new one", async () => {
    backend.foreignUids.push(30_001);
    const first = await use("42");
    expect(first.session.uid).toBe(30_002);
    backend.killContainer(first.session.container ?? "");
    backend.foreignUids.push(30_002);
    const second = await use("42");
    expect(second.session.uid).toBe(30_003);
    expect(await record(second.session.id)).toMatchObject({ uid: 30_003, prepared: true });
    expect(backend.counts.preparations).toBe(2);
  });

  it("stay with a session whose old container was left behind; that one is removed first", async () => {
    const { session: before } = await use("42");
    await sessions.update(before.id, { container: null });
    const second = await use("42");
    expect(second.session.uid).toBe(before.uid);
    expect(await containers()).toEqual([second.session.container]);
  });

  it("are never two boxes' at once, also where two records hold the same", async () => {
    const [one, two] = [await session("1"), await session("2")];
    await sessions.update(two.id, { uid: one.uid });
    const leases = await Promise.all([bind(one), bind(two)]);
    expect(new Set(leases.map((lease) => lease.session.uid)).size).toBe(2);
    for (const lease of leases) await lease[Symbol.asyncDispose]();
  });

  it("that are all taken are a lack of capacity", async () => {
    backend.foreignUids.push(...Array.from({ length: 5000 }, (_none, index) => 30_001 + index));
    await expect(bind("42")).rejects.toThrow(expect.objectContaining({ code: "box.capacity" }));
  });
});

describe("settings", () => {
  it("that differ make an idle box anew, are a conflict for a busy one, and reuse it when they are the same", async () => {
    proves("BOX-06");
    const settings = { ...SETTINGS, memoryMb: 1024, cpus: 2 };
    const first = await use("42", (lease) => put(lease, "/workspace/a.txt"));
    const busy = await bind("42");
    await expect(bind("42", { ...ENDLESS, settings })).rejects.toThrow(
      expect.objectContaining({ code: "box.conflict", details: { fields: ["cpus", "memoryMb"] } }),
    );
    await busy[Symbol.asyncDispose]();
    await using changed = await bind("42", { ...ENDLESS, settings });
    expect(changed.notes).toEqual([BOX_NOTES.changed]);
    expect(changed.session.container).not.toBe(first.session.container);
    expect(await has(changed, "/workspace/a.txt")).toBe(true);
    await using same = await bind("42", { ...ENDLESS, settings: { ...settings, execTimeoutSec: 60 } });
    expect(same.session.container).toBe(changed.session.container);
    expect(await containers()).toHaveLength(1);
  });
});

/** Another process takes over. */
function next(): void {
  service = aService();
}

describe("what was lost", () => {
  it("is told by the next process where a person woke the box and no run came", async () => {
    const first = await use("42");
    await backend.stop(first.session.container ?? "", ENDLESS);
    const byHand = await service.lease(first.session, ENDLESS);
    expect(byHand.notes).toEqual([BOX_NOTES.restarted]);
    await byHand[Symbol.asyncDispose]();
    next();
    expect((await use("42")).notes).toEqual([BOX_NOTES.restarted]);
    next();
    expect((await use("42")).notes).toEqual([]);
  });

  it("is told by the next process where this one dies between the start of the box and the run's work", async () => {
    const first = await use("42");
    await backend.stop(first.session.container ?? "", ENDLESS);
    backend.open = async () => {
      throw new ServiceError("service.stopping", "The process dies.");
    };
    await expect(bind("42")).rejects.toThrow("The process dies.");
    Reflect.deleteProperty(backend, "open");
    next();
    expect((await use("42")).notes).toContain(BOX_NOTES.restarted);
  });

  it("is nothing for the first run of a session whose spare box has rested meanwhile", async () => {
    vi.useFakeTimers();
    service = aService({ warmPool: 1 });
    await service.start(ENDLESS);
    await pass(10);
    const waiting = await session("new");
    expect(waiting).toMatchObject({ prepared: true, untold: null });
    await backend.stop(waiting.container ?? "", ENDLESS);
    expect((await use("new")).notes).toEqual([]);
    const other = await session("other");
    await service.stopSession("main", other.id);
    await using byHand = await service.lease(other, ENDLESS);
    expect(byHand.notes).toEqual([]);
  });
});

describe("capacity", () => {
  it("rests the longest idle box to make room, its workspace kept", async () => {
    for (const chat of ["1", "2", "3"]) {
      await use(chat, (lease) => put(lease, "/workspace/a.txt"));
      clock.advance(1000);
    }
    await use("1");
    await use("4");
    expect((await service.status(ENDLESS)).used).toBe(3);
    expect((await record((await session("2")).id)).container).toBeNull();
    const again = await use("2", async (lease) => expect(await has(lease, "/workspace/a.txt")).toBe(true));
    expect(again.notes).toEqual([BOX_NOTES.rested]);
  });

  it("refuses with limit and use when every box is held", async () => {
    const leases = await Promise.all(["1", "2", "3"].map((chat) => bind(chat)));
    await expect(bind("4")).rejects.toThrow(
      expect.objectContaining({ code: "box.capacity", retryable: true, details: { limit: 3, used: 3 } }),
    );
    expect(await service.status(ENDLESS)).toMatchObject({ limit: 3, used: 3, remaining: 0 });
    await using _shared = await bind("1");
    for (const lease of leases) await lease[Symbol.asyncDispose]();
    await using _fourth = await bind("4");
    expect(await containers()).toHaveLength(3);
  });

  it("is never passed, whatever comes at once", async () => {
    for (const chat of ["1", "2", "3"]) await use(chat);
    const outcomes = await Promise.allSettled(["4", "5", "6", "7", "8"].map((chat) => bind(chat)));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
    expect(await containers()).toHaveLength(3);
  });

  it("fails with the engine's error when no room can be made", async () => {
    for (const chat of ["1", "2", "3"]) await use(chat);
    backend.onRemove = async () => {
      throw new Error("engine is wedged");
    };
    await expect(bind("4")).rejects.toThrow("engine is wedged");
    backend.onRemove = async () => {};
    await use("4");
    expect(await containers()).toHaveLength(3);
  });
});

describe("the reaper", () => {
  it("rests a box that nobody has used for so long; the next run is told", async () => {
    vi.useFakeTimers();
    await service.start(ENDLESS);
    await use("42", (lease) => put(lease, "/workspace/a.txt"));
    await pass(270);
    expect(await containers()).toHaveLength(1);
    await pass(70);
    expect(await containers()).toEqual([]);
    expect(await volumes()).toHaveLength(1);
    const second = await use("42", async (lease) => expect(await has(lease, "/workspace/a.txt")).toBe(true));
    expect(second.notes).toEqual([BOX_NOTES.rested]);
  });

  it("pauses first, then stops, then removes the container; each wake loses no more than it must", async () => {
    proves("BOX-26");
    vi.useFakeTimers();
    service = aService({ pauseAfterSec: 30, removeAfterSec: 3600 });
    await service.start(ENDLESS);
    const { session: first } = await use("42", (lease) => put(lease, "/workspace/a.txt"));
    const state = async () => (await backend.inspect(first.container ?? "", ENDLESS))?.state ?? "gone";
    const wake = async () =>
      (await use("42", async (lease) => expect(await has(lease, "/workspace/a.txt")).toBe(true))).notes;
    await pass(50);
    expect([await state(), await wake(), await state()]).toEqual(["paused", [], "running"]);
    await pass(330);
    expect([await state(), await wake(), await state()]).toEqual([
      "stopped",
      [BOX_NOTES.restarted],
      "running",
    ]);
    await pass(330);
    expect((await service.status(ENDLESS)).used).toBe(0);
    await pass(3300);
    expect([await state(), await wake()]).toEqual(["gone", [BOX_NOTES.rested]]);
  });

  it("finds out at the start that boxes are stopped, and does not count them", async () => {
    const { session: before } = await use("42");
    await backend.stop(before.container ?? "", ENDLESS);
    service = aService();
    await service.start(ENDLESS);
    expect((await service.status(ENDLESS)).used).toBe(0);
  });

  it("counts from the end of the last use, and never touches a held box", async () => {
    vi.useFakeTimers();
    await service.start(ENDLESS);
    const lease = await bind("42");
    await pass(1000);
    expect(await containers()).toHaveLength(1);
    await lease[Symbol.asyncDispose]();
    await pass(270);
    expect(await containers()).toHaveLength(1);
  });

  it("rests nothing when the idle limit is 0 or less", async () => {
    proves("BOX-05");
    vi.useFakeTimers();
    service = aService({ idleTtlSec: -1 });
    await service.start(ENDLESS);
    await use("42");
    await pass(3600);
    expect(await containers()).toHaveLength(1);
  });

  it("lets a run that comes meanwhile wait and have a new box", async () => {
    vi.useFakeTimers();
    await service.start(ENDLESS);
    const { session: before } = await use("42");
    const removing = new Gate();
    const gate = new Gate();
    backend.onRemove = async () => {
      removing.open();
      await gate.passed;
    };
    const resting = pass(340);
    await removing.passed;
    const late = bind("42");
    gate.open();
    await using lease = await late;
    await resting;
    expect(lease.session.container).not.toBe(before.container);
    expect(await containers()).toEqual([lease.session.container]);
  });

  it("meets a box that could not be rested in the next round", async () => {
    vi.useFakeTimers();
    await service.start(ENDLESS);
    await use("42");
    backend.onRemove = async () => {
      throw new Error("busy");
    };
    await pass(340);
    expect(logger.text()).toContain("A box could not be rested.");
    backend.onRemove = async () => {};
    await pass(40);
    expect(await containers()).toEqual([]);
  });
});

describe("an acquire", () => {
  it("plans a session of the key and passes by the pool where it names an image; the box keeps that image", async () => {
    vi.useFakeTimers();
    service = aService({ warmPool: 1, allowedImages: ["other:1"] });
    await service.start(ENDLESS);
    await pass(60);
    expect(await containers()).toHaveLength(1);
    const chosen = { reuse_key: "mine", options: { image: "other:1" } };
    const { session: planned, image } = await service.acquire("main", chosen, ENDLESS);
    expect([planned.container, image]).toEqual([null, "other:1"]);
    await using lease = await service.bind(planned, "run_a", { ...ENDLESS, image });
    expect(lease.settings.image).toBe("other:1");
    const again = await service.acquire("main", { reuse_key: "mine" }, ENDLESS);
    await using hand = await service.lease(again.session, ENDLESS);
    expect([hand.session.container, hand.settings.image]).toEqual([lease.session.container, "other:1"]);
    const other = await service.acquire("main", { reuse_key: "other" }, ENDLESS);
    expect(other.session.container).not.toBeNull();
  });
});

describe("the engine", () => {
  it("that is switched off and one that does not answer are told apart", async () => {
    proves("KEY-16", "KEY-17");
    const off = aService({ enabled: false });
    await off.start(ENDLESS);
    expect(await off.status(ENDLESS)).toMatchObject({ enabled: false, available: false });
    await expect(off.bind(await session("42"), "run_x", ENDLESS)).rejects.toThrow(
      expect.objectContaining({ code: "box.disabled" }),
    );
    backend.isAvailable = false;
    expect(await service.status(ENDLESS)).toEqual({
      enabled: true,
      available: false,
      limit: null,
      used: null,
      remaining: null,
      required_reuse_key: null,
      reason: "The engine could not be reached: ECONNREFUSED.",
      isolation: [],
      quota: "unknown",
      export_paths: false,
    });
  });

  it("is told with what is in force when it answers", async () => {
    expect(await service.status(ENDLESS)).toMatchObject({
      enabled: true,
      available: true,
      limit: 3,
      used: 0,
      remaining: 3,
      reason: null,
      isolation: ["network-none"],
      quota: "watchdog",
      export_paths: true,
    });
    expect(await service.engines(ENDLESS)).toEqual([
      {
        name: "fake",
        version: "1.0.0",
        images: ["berth-box:slim"],
        warnings: [],
        transport: "worker",
        controls: [{ name: "network-none", state: "enforced", detail: "interfaces lo" }],
      },
    ]);
    expect(service.limits).toMatchObject({
      max_boxes: 3,
      idle_ttl_sec: 300,
      workspace_ttl_days: 14,
      profile: "default",
      memory_mb: 512,
    });
  });

  it("may be away at the start and is probed again on use", async () => {
    backend.isAvailable = false;
    await service.start(ENDLESS);
    await expect(bind("42")).rejects.toThrow(expect.objectContaining({ code: "box.engine_unavailable" }));
    backend.isAvailable = true;
    await use("42");
    expect((await service.status(ENDLESS)).available).toBe(true);
  });

  it("is required of work that would do nothing without it", async () => {
    backend.isAvailable = false;
    await expect(service.requireEngine(ENDLESS)).rejects.toThrow(
      expect.objectContaining({ code: "box.engine_unavailable" }),
    );
    backend.isAvailable = true;
    await expect(service.requireEngine(ENDLESS)).resolves.toBeUndefined();
  });

  it("that is lost in the middle is said to be lost, once, and found again by the loop", async () => {
    vi.useFakeTimers();
    await service.start(ENDLESS);
    await use("42");
    backend.isAvailable = false;
    await expect(bind("42")).rejects.toThrow(expect.objectContaining({ code: "box.engine_unavailable" }));
    expect((await service.status(ENDLESS)).available).toBe(false);
    await pass(60);
    expect(logger.lines.filter(({ message }) => message === "The engine is not available.")).toHaveLength(1);
    backend.isAvailable = true;
    await pass(30);
    expect((await service.status(ENDLESS)).available).toBe(true);
  });

  it("without the image is not ready, with the reason and the next step", async () => {
    service = aService({ settings: { ...SETTINGS, image: "no-such:image" } });
    expect((await service.status(ENDLESS)).reason).toBe('The engine has no image "no-such:image".');
    await expect(bind("42")).rejects.toThrow(
      expect.objectContaining({
        code: "box.readiness",
        hint: "Build it with npm run image, or name another one in boxes.image.",
      }),
    );
  });

  it("that does not answer the first probe in time is not available", async () => {
    vi.spyOn(AbortSignal, "timeout").mockReturnValue(AbortSignal.abort());
    backend.probe = async ({ signal }) => {
      signal.throwIfAborted();
      throw new Error("unreachable");
    };
    expect((await service.status(ENDLESS)).reason).toBe("The engine did not answer within 5 s.");
  });
});

describe("recent errors", () => {
  it("are the newest 50 of 60, in order, and none of another tenant's", async () => {
    proves("BOX-15");
    const known = await session("42");
    let count = 0;
    backend.onStart = async () => {
      count += 1;
      throw new ServiceError("box.readiness", `Start ${count} failed.`);
    };
    for (let i = 0; i < 60; i += 1) await expect(bind(known)).rejects.toThrow("failed");
    const recent = service.recentErrors("main");
    expect(recent).toEqual(
      Array.from({ length: 50 }, (_none, index) => ({
        timestamp: new Date(clock.now()).toISOString(),
        code: "box.readiness",
        message: `Start ${index + 11} failed.`,
      })),
    );
    expect(service.recentErrors("other")).toEqual([]);
  });

  it("leave out that a caller went away", async () => {
    const signal = AbortSignal.abort(new Error("gone"));
    await expect(bind("42", { signal })).rejects.toThrow("gone");
    expect(service.recentErrors("main")).toEqual([]);
  });
});

describe("a lease by hand", () => {
  it("wakes the box, shares it with runs, and keeps it from being stopped or removed", async () => {
    const { session: known } = await use("42");
    await service.stopSession("main", known.id);
    expect(await containers()).toEqual([]);
    const lease = await service.lease(known, ENDLESS);
    expect(lease).toMatchObject({ notes: [BOX_NOTES.rested], settings: SETTINGS });
    await use("42");
    expect(backend.counts.containersCreated).toBe(2);
    for (const work of [
      service.stopSession("main", known.id),
      service.removeSession("main", known.id, ENDLESS),
    ])
      await expect(work).rejects.toThrow(expect.objectContaining({ code: "box.conflict" }));
    await lease[Symbol.asyncDispose]();
    await service.stopSession("main", known.id);
    expect((await record(known.id)).container).toBeNull();
    expect(await volumes()).toEqual([known.volume]);
  });

  it("is refused where boxes are switched off", async () => {
    const off = aService({ enabled: false });
    await expect(off.lease(await session("42"), ENDLESS)).rejects.toThrow(
      expect.objectContaining({ code: "box.disabled" }),
    );
  });
});

describe("the list of boxes", () => {
  it("has those of the tenant that have a container, with their activity", async () => {
    await using lease = await bind("42");
    await use("43");
    await session("never used");
    const foreign = await service.findOrCreateSession(
      "other",
      renderReuseKey("{chat}", { chat: "1" }, "other"),
      ENDLESS,
    );
    await using _foreign = await bind(foreign);
    clock.advance(5000);
    expect(await service.listBoxes("main", ENDLESS)).toMatchObject([
      { session_id: lease.session.id, key: "42", state: "ready", activity: { leases: 1, idle_sec: null } },
      { key: "43", state: "ready", activity: { leases: 0, idle_sec: 5 } },
    ]);
    expect(await service.listBoxes("none", ENDLESS)).toEqual([]);
  });

  it("has a box that is being made", async () => {
    const starting = new Gate();
    const gate = new Gate();
    backend.onStart = async () => {
      starting.open();
      await gate.passed;
    };
    const work = use("42");
    await starting.passed;
    expect(await service.listBoxes("main", ENDLESS)).toMatchObject([{ key: "42", state: "starting" }]);
    const described = await service.describe([await session("42")], ENDLESS);
    expect(described).toMatchObject([{ state: "starting", activity: { leases: 1 } }]);
    gate.open();
    await work;
  });
});

describe("the warm pool", () => {
  it("gives a new session a box that runs already, and is filled again; an old session keeps its own", async () => {
    vi.useFakeTimers();
    await use("old");
    service = aService({ warmPool: 1 });
    await service.start(ENDLESS);
    await pass(10);
    expect(await containers()).toHaveLength(2);
    const { containersCreated } = backend.counts;
    const { session: fresh, notes } = await use("new");
    expect([notes, backend.counts.containersCreated]).toEqual([[], containersCreated]);
    expect(await containers()).toContain(fresh.container);
    expect(fresh.key).toBe("new");
    await use("old");
    await pass(10);
    expect(await containers()).toHaveLength(3);
    expect((await service.listBoxes("main", ENDLESS)).map(({ key }) => key)).toEqual(["old", "new"]);
  });

  it("serves the first command of a new session without a call of the engine, once the record is the session's", async () => {
    vi.useFakeTimers();
    service = aService({ warmPool: 1 });
    await service.start(ENDLESS);
    await pass(10);
    expect([service.spareCount, service.awakeCount]).toEqual([1, 1]);
    Object.assign(backend, { inspect: refuse, open: refuse, start: refuse, prepareWorkspace: refuse });
    const owners: Promise<SessionRecord | null>[] = [];
    const entering = backend.openServed.bind(backend);
    backend.openServed = (place, startedAt) => {
      owners.push(sessions.get("main", place.sessionId));
      return entering(place, startedAt);
    };
    await use("new", (lease) => put(lease, "/workspace/a.txt"));
    expect(await Promise.all(owners)).toMatchObject([{ key: "new" }]);
    expect([service.spareCount, service.awakeCount]).toEqual([0, 1]);
  });

  it("is not filled while a caller waits for a box, nor while the engine is away", async () => {
    vi.useFakeTimers();
    service = aService({ warmPool: 1 });
    await service.start(ENDLESS);
    const [starting, gate] = [new Gate(), new Gate()];
    backend.onStart = async () => {
      starting.open();
      await gate.passed;
    };
    const work = use("42");
    await starting.passed;
    await pass(20);
    expect(await sessions.listAll()).toHaveLength(1);
    gate.open();
    await work;
    backend.isAvailable = false;
    await pass(60);
    backend.isAvailable = true;
    expect(await containers()).toHaveLength(1);
    await pass(60);
    expect(await containers()).toHaveLength(2);
    expect(await volumes()).toHaveLength(2);
  });
});

describe("removeSession", () => {
  it("leaves nothing behind", async () => {
    const { session: before } = await use("42");
    await service.removeSession("main", before.id, ENDLESS);
    expect([await containers(), await volumes(), await sessions.listAll()]).toEqual([[], [], []]);
    expect((await service.status(ENDLESS)).used).toBe(0);
  });

  it("refuses while a run holds the session, unless forced, and knows no foreign session", async () => {
    await using lease = await bind("42");
    const { id } = lease.session;
    await expect(service.removeSession("main", id, ENDLESS)).rejects.toThrow(
      expect.objectContaining({ code: "box.conflict" }),
    );
    await expect(service.removeSession("other", id, ENDLESS)).rejects.toThrow(
      expect.objectContaining({ code: "session.not_found" }),
    );
    await service.removeSession("main", id, { ...ENDLESS, force: true });
    expect(await containers()).toEqual([]);
  });

  it("waits for a creation in flight, and a message that comes at the same time gets a new box", async () => {
    const gate = new Gate();
    const starting = new Gate();
    backend.onStart = async () => {
      starting.open();
      await gate.passed;
    };
    const first = bind("42");
    await starting.passed;
    const { id } = await session("42");
    const removal = service.removeSession("main", id, { ...ENDLESS, force: true });
    const late = bind(await record(id));
    gate.open();
    await using _doomed = await first;
    await removal;
    await using lease = await late;
    expect(lease.session.id).not.toBe(id);
    expect(lease.notes).toEqual([]);
    expect(await containers()).toEqual([lease.session.container]);
  });

  it("forgets the session when the engine is away; what is left is removed later", async () => {
    vi.useFakeTimers();
    await service.start(ENDLESS);
    const { session: before } = await use("42");
    backend.isAvailable = false;
    await service.removeSession("main", before.id, ENDLESS);
    expect(await sessions.listAll()).toEqual([]);
    backend.isAvailable = true;
    await pass(70);
    expect([await containers(), await volumes()]).toEqual([[], []]);
  });
});

describe("reconciliation", () => {
  it("finds the boxes of the process before, and removes what no record names", async () => {
    const { session: kept } = await use("42");
    const { session: stray } = await use("43");
    await sessions.remove(stray.id);
    await session("never-used");
    clock.advance(200_000);
    service = aService();
    vi.useFakeTimers();
    await service.start(ENDLESS);
    expect(await containers()).toEqual([kept.container]);
    expect(await volumes()).toEqual([kept.volume]);
    expect((await service.status(ENDLESS)).used).toBe(1);
    await pass(130);
    expect(await containers()).toEqual([]);
  });

  it("corrects records whose container is gone", async () => {
    vi.useFakeTimers();
    await service.start(ENDLESS);
    const { session: before } = await use("42");
    await use("43");
    backend.killContainer(before.container ?? "");
    await pass(70);
    expect((await record(before.id)).container).toBeNull();
    expect((await service.status(ENDLESS)).used).toBe(1);
    expect((await use("42")).notes).toEqual([BOX_NOTES.rested]);
  });

  it("leaves alone what a run uses", async () => {
    vi.useFakeTimers();
    await service.start(ENDLESS);
    await using lease = await bind("42");
    backend.killContainer(lease.session.container ?? "");
    await pass(70);
    expect((await record(lease.session.id)).container).toBe(lease.session.container);
  });

  it("repeats a failing list, also the first one", async () => {
    vi.useFakeTimers();
    const { session: stray } = await use("42");
    await sessions.remove(stray.id);
    backend.onList = async () => {
      throw new Error("list failed");
    };
    service = aService();
    await service.start(ENDLESS);
    await pass(70);
    expect(await backend.inspect(stray.container ?? "", ENDLESS)).not.toBeNull();
    backend.onList = async () => {};
    await pass(70);
    expect(await backend.inspect(stray.container ?? "", ENDLESS)).toBeNull();
    expect(logger.text()).toContain("A round of looking after boxes failed.");
  });

  it("goes on with the others when one thing cannot be removed", async () => {
    vi.useFakeTimers();
    const strays = [(await use("1")).session, (await use("2")).session];
    for (const { id } of strays) await sessions.remove(id);
    backend.onRemove = async (name) => {
      if (name === strays[0]?.container) throw new Error("busy");
    };
    service = aService();
    await service.start(ENDLESS);
    expect(await containers()).toEqual([strays[0]?.container]);
    backend.onRemove = async () => {};
    await pass(70);
    expect([await containers(), await volumes()]).toEqual([[], []]);
  });

  it("removes a workspace that is due, keeps the session, and tells its next run", async () => {
    vi.useFakeTimers();
    await service.start(ENDLESS);
    const { session: before } = await use("42", (lease) => put(lease, "/workspace/a.txt"));
    await pass(400);
    clock.advance(13 * DAY_MS);
    await pass(70);
    expect(await volumes()).toHaveLength(1);
    clock.advance(DAY_MS);
    await pass(70);
    expect(await volumes()).toEqual([]);
    const second = await use("42", async (lease) => expect(await has(lease, "/workspace/a.txt")).toBe(false));
    expect(second.session.id).toBe(before.id);
    expect(second.notes).toEqual([BOX_NOTES.expired]);
    expect((await use("42")).notes).toEqual([]);
  });

  it("keeps workspaces for ever when it is told to", async () => {
    vi.useFakeTimers();
    service = aService({ workspaceTtlDays: 0 });
    await service.start(ENDLESS);
    await use("42");
    await pass(400);
    clock.advance(10_000 * DAY_MS);
    await pass(70);
    expect(await volumes()).toHaveLength(1);
  });
});

describe("the end of the service", () => {
  it("ends leases and loops; boxes stay", async () => {
    vi.useFakeTimers();
    await service.start(ENDLESS);
    const lease = await bind("42");
    await service[Symbol.asyncDispose]();
    await service[Symbol.asyncDispose]();
    expect(vi.getTimerCount()).toBe(0);
    expect(await containers()).toEqual([lease.session.container]);
    await expect(bind("42")).rejects.toThrow(expect.objectContaining({ code: "service.stopping" }));
  });
});

describe("a tenant of a control plane", () => {
  it("uses boxes while it is admitted; then its box is closed, refused, and its workspace kept", async () => {
    let fault: string | null = null;
    const admit = async (): Promise<void> => {
      if (fault !== null) throw new ServiceError("box.admission", fault);
    };
    service = aService({}, { grants: { admit, findFault: async () => fault } });
    await use("a", (lease) => put(lease, "/workspace/kept"));
    await service.closeUngranted(ENDLESS);
    expect(backend.counts.containersCreated).toBe(1);
    const { id } = await session("a");
    expect((await record(id)).container).not.toBeNull();
    fault = "The grant of the tenant has expired.";
    await service.closeUngranted(ENDLESS);
    expect((await record(id)).container).toBeNull();
    await expect(bind("a")).rejects.toMatchObject({ code: "box.admission" });
    await expect(service.lease(await session("a"), ENDLESS)).rejects.toMatchObject({ code: "box.admission" });
    fault = null;
    await use("a", async (lease) => expect(await has(lease, "/workspace/kept")).toBe(true));
  });

  it("closes nothing where no control plane is configured", async () => {
    await use("a");
    await service.closeUngranted(ENDLESS);
    expect((await record((await session("a")).id)).container).not.toBeNull();
  });
});
