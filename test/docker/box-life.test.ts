import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { sniffMimeType } from "../../src/adapters/file-types/sniff-mime-type.js";
import { type MemoryStores, openMemoryStores } from "../../src/adapters/memory/open-memory-stores.js";
import { RandomIdSource } from "../../src/adapters/system/random-id-source.js";
import type { BoxLease } from "../../src/box/box-lease.js";
import { BOX_NOTES } from "../../src/box/box-notes.js";
import type { BoxServiceSettings } from "../../src/box/box-parts.js";
import { BoxService } from "../../src/box/box-service.js";
import { type ExportDeps, exportFiles } from "../../src/box/export-files.js";
import { type ImportRequest, importAttachments } from "../../src/box/import-attachments.js";
import { keyAsTemplate, renderReuseKey } from "../../src/box/reuse-key.js";
import type { RunId } from "../../src/domain/ids.js";
import { KeyedLock } from "../../src/lib/keyed-lock.js";
import { FakeClock } from "../fakes/fake-clock.js";
import { FakeOutboundFetch } from "../fakes/fake-outbound-fetch.js";
import { Gate } from "../fakes/gate.js";
import { ENGINE_SETTINGS, FOREVER, hasEngine, TestEngine } from "../support/engine.js";
import { proves } from "../support/proves.js";
import { textLike } from "../support/text-like.js";

const DAY_MS = 86_400_000;
const LIMITS = { maxFileBytes: 1_000_000, maxFiles: 10, maxTotalBytes: 5_000_000 };

const exec = async ({ handle }: BoxLease, command: string): Promise<string> => {
  const pieces: Uint8Array[] = [];
  const request = { argv: ["sh", "-c", command], workdir: "/workspace", env: {}, timeoutMs: 20_000 };
  for await (const event of handle.exec(request, FOREVER))
    if (event.type === "output") pieces.push(event.bytes);
  return Buffer.concat(pieces).toString();
};

describe.skipIf(!hasEngine())("boxes on a real engine", () => {
  let engine: TestEngine;
  let stores: MemoryStores;
  let clock: FakeClock;
  let service: BoxService;
  let runs = 0;

  beforeEach(() => {
    engine = new TestEngine();
    clock = new FakeClock(Date.now());
    stores = openMemoryStores({ clock });
    service = aService();
  });

  afterEach(async () => {
    await service[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
  });

  const aService = (backend = engine.backend, change: Partial<BoxServiceSettings> = {}) =>
    new BoxService(
      { backend, sessions: stores.sessions, clock, ids: new RandomIdSource(), logger: engine.logger },
      {
        enabled: true,
        settings: ENGINE_SETTINGS,
        profile: "default",
        maxBoxes: 4,
        pauseAfterSec: 0,
        idleTtlSec: 300,
        removeAfterSec: 0,
        warmPool: 0,
        workspaceTtlDays: 14,
        ...change,
      },
    );

  const bind = async (key: string, settings = ENGINE_SETTINGS): Promise<BoxLease> => {
    runs += 1;
    const runId: RunId = `run_life${runs}`;
    const reuseKey = renderReuseKey(keyAsTemplate(key), {}, "main");
    const session = await service.findOrCreateSession("main", reuseKey, FOREVER);
    return service.bind(session, runId, { ...FOREVER, settings });
  };

  const use = async (command: string) => {
    await using lease = await bind("42");
    return [lease.notes, await exec(lease, command)];
  };

  const fill = async (key: string) => {
    await using lease = await bind(key);
    await exec(lease, "head -c 4000000 /dev/urandom > big");
    return lease.session.volume;
  };

  const containers = async () => (await engine.backend.listOwned(FOREVER)).containers;

  const exportFrom = (lease: BoxLease, paths: readonly string[], files = lease.handle.files) => {
    const deps: ExportDeps = {
      files,
      blobs: stores.blobs,
      fileStore: stores.files,
      locks: new KeyedLock(),
      sniffMimeType,
      ids: new RandomIdSource(),
      clock,
    };
    const { inbox, outbox } = lease;
    const request = {
      tenant: "main",
      runId: `run_life${runs}` as const,
      inbox,
      outbox,
      paths,
      limits: LIMITS,
    };
    return exportFiles(deps, request, FOREVER);
  };

  it("refuses every path that leads elsewhere, and removes only what was exported", async () => {
    proves("OUT-14");
    await using lease = await bind("42");
    const { outbox } = lease;
    await exec(
      lease,
      `cd ${outbox} && echo good > good.txt && ln -s /etc/shadow link && ln -s /etc dir && echo h > h0 && ln h0 h1 && mkfifo pipe && mkdir sub`,
    );
    const hostile = ["link", "dir/shadow", "h1", "pipe", "sub", "../../../etc/passwd"].map(
      (name) => `${outbox}/${name}`,
    );
    for (const path of [...hostile, "/dev/null", "/etc/passwd"]) {
      const answer = await exportFrom(lease, [path]);
      expect([path, answer.ok]).toEqual([path, false]);
    }
    expect(await exportFrom(lease, [`${outbox}/good.txt`, ...hostile])).toMatchObject({ ok: false });
    expect(await exportFrom(lease, [`${outbox}/good.txt`])).toMatchObject({ ok: true });
    expect((await exec(lease, `ls ${outbox}; test -s /etc/passwd && echo kept`)).split(/\s+/)).toEqual([
      "dir",
      "h0",
      "h1",
      "link",
      "pipe",
      "sub",
      "kept",
      "",
    ]);
  });

  it("fails an export whose file vanishes between check and read, and no other", async () => {
    proves("OUT-21");
    await using lease = await bind("42");
    const { files } = lease.handle;
    const paths = ["a", "b"].map((name) => `${lease.outbox}/${name}`);
    await exec(lease, `cd ${lease.outbox}; echo a > a; echo b > b`);
    const answer = await exportFrom(lease, paths, {
      ...files,
      stat: async (...asked) => {
        const stats = await files.stat(...asked);
        await exec(lease, `rm ${lease.outbox}/b`);
        return stats;
      },
    });
    expect(answer).toMatchObject({ ok: false, error: textLike(/\/b": it vanished/) });
    expect(await exec(lease, `cat ${lease.outbox}/a`)).toBe("a\n");
    expect(await exportFrom(lease, paths.slice(0, 1))).toMatchObject({ ok: true, files: [{ name: "a" }] });
  });

  it("imports what is named: again the same entry, and no unknown reference", async () => {
    proves("IN-04", "IN-07");
    await using lease = await bind("42");
    const names = ["../../etc/passwd", "/a/b/c.png", "a b c.txt", "", "...", "$(rm -rf /);`id`.txt"];
    const request = await aRequest(stores.blobs, lease.inbox, names);
    const deps = { files: lease.handle.files, blobs: stores.blobs, outbound: new FakeOutboundFetch() };
    const first = await importAttachments(deps, request, FOREVER);
    const seen = await exec(lease, `cd ${lease.inbox}; cat */*; ls -d */*; ls /workspace`);
    const kept = ["0/passwd", "1/c.png", "2/a_b_c.txt", "3/file_3.bin", "4/file_4.bin", "5/id.txt"];
    expect(seen).toBe(`012345${[...kept, "inbox", "outbox"].join("\n")}\n`);
    const again = { ...request, outcomes: first.outcomes };
    expect((await importAttachments(deps, again, FOREVER)).outcomes).toEqual(first.outcomes);
    const unknown = importAttachments(deps, { ...again, references: ["attachment-9"] }, FOREVER);
    await expect(unknown).rejects.toMatchObject({ code: "box.validation" });
  });

  it("starts slow boxes side by side", async () => {
    proves("BOX-07");
    const both = new Gate();
    const start = engine.backend.start.bind(engine.backend);
    let starting = 0;
    engine.backend.start = async (...asked) => {
      starting += 1;
      if (starting === 2) both.open();
      await both.opened;
      return start(...asked);
    };
    await using one = await Promise.all([bind("1"), bind("2")]).then(([first, second]) => {
      void second[Symbol.asyncDispose]();
      return first;
    });
    expect(await exec(one, "echo well")).toBe("well\n");
    expect((await engine.backend.listOwned(FOREVER)).containers).toHaveLength(2);
  });

  it("takes other settings once its box is idle, with its files; a busy box refuses them by name", async () => {
    proves("BOX-06");
    const larger = { ...ENGINE_SETTINGS, memoryMb: 320 };
    const busy = await bind("42");
    await exec(busy, "echo kept > kept.txt");
    await expect(bind("42", larger)).rejects.toMatchObject({
      code: "box.conflict",
      details: { fields: ["memoryMb"] },
    });
    await busy[Symbol.asyncDispose]();
    await using changed = await bind("42", larger);
    expect([changed.notes, await exec(changed, "cat kept.txt")]).toEqual([[BOX_NOTES.changed], "kept\n"]);
    const info = await engine.docker.getContainer(changed.session.container ?? "").inspect();
    expect(info.HostConfig.Memory).toBe(320 * 1024 * 1024);
    await using same = await bind("42", larger);
    expect([same.notes, same.session.container]).toEqual([[], changed.session.container]);
  });

  it("is made with an image that was allowed and chosen, by nothing else that a run says, and keeps it", async () => {
    proves("KEY-12");
    await service[Symbol.asyncDispose]();
    service = aService(engine.backend, { allowedImages: ["berth-box:full"] });
    for (const field of ["host_path", "extra_mounts", "max_sessions", "memory_mb", "session_id"]) {
      const refused = service.acquire("main", { reuse_key: "42", options: { [field]: "/etc" } }, FOREVER);
      await expect(refused).rejects.toMatchObject({ code: "box.validation", param: field });
    }
    const evil = service.acquire("main", { reuse_key: "42", options: { image: "evil" } }, FOREVER);
    await expect(evil).rejects.toMatchObject({ code: "box.forbidden" });
    expect(await stores.sessions.listAll()).toEqual([]);
    expect(await engine.backend.listOwned(FOREVER)).toMatchObject({ containers: [], volumes: [] });
    const request = { reuse_key: "42", options: { image: "berth-box:full" } };
    const { session, image } = await service.acquire("main", request, FOREVER);
    await using first = await service.bind(session, "run_image", { ...FOREVER, image });
    const again = await service.acquire("main", { reuse_key: "42" }, FOREVER);
    await using hand = await service.lease(again.session, FOREVER);
    expect(hand.session.container).toBe(first.session.container);
    const facts = await engine.docker.getContainer(first.session.container ?? "").inspect();
    expect(facts.Config.Image).toBe("berth-box:full");
    expect(await containers()).toHaveLength(1);
  });

  it("removes a link in the place of the inbox inside the box only, and makes a real directory", async () => {
    proves("OUT-15");
    const first = await bind("42");
    await exec(
      first,
      "rm -rf inbox outbox && mkdir /tmp/elsewhere && ln -s /tmp/elsewhere inbox && ln -s / outbox",
    );
    await first[Symbol.asyncDispose]();
    await using second = await bind("42");
    const seen = await exec(second, `stat -c %F ${second.inbox} ${second.outbox} inbox; ls /tmp/elsewhere`);
    expect(seen).toBe("directory\ndirectory\ndirectory\n");
    const info = await engine.docker.getContainer(second.session.container ?? "").inspect();
    const mounts = info.Mounts.map(({ Destination: target, RW: writable }) => `${target} ${writable}`);
    expect(mounts.toSorted()).toEqual(["/opt/berth false", "/run/berth false", "/workspace true"]);
  });

  it("replaces a box that was removed, between runs and during a command, with its workspace", async () => {
    proves("BOX-16");
    const first = await bind("42");
    await exec(first, "echo kept > kept.txt");
    await first[Symbol.asyncDispose]();
    await engine.docker.getContainer(first.session.container ?? "").remove({ force: true });
    const second = await bind("42");
    expect([second.notes, await exec(second, "cat kept.txt")]).toEqual([[BOX_NOTES.vanished], "kept\n"]);
    const request = { argv: ["sleep", "30"], workdir: "/workspace", env: {}, timeoutMs: 40_000 };
    const events = second.handle.exec(request, FOREVER)[Symbol.asyncIterator]();
    const ended = events.next().then(
      (step) => (step.done === true || step.value.type !== "exit" ? "output" : step.value.exit.status),
      () => "lost",
    );
    await engine.docker.getContainer(second.session.container ?? "").remove({ force: true });
    expect(["killed", "lost"]).toContain(await ended);
    await second[Symbol.asyncDispose]();
    await using third = await bind("42");
    expect([third.notes, await exec(third, "cat kept.txt")]).toEqual([[BOX_NOTES.vanished], "kept\n"]);
  });

  it("keeps every line over cycles of rest and wake", async () => {
    proves("BOX-26");
    for (const line of ["1", "2", "3", "4", "5"]) {
      const lease = await bind("42");
      await exec(lease, `echo ${line} >> lines.txt`);
      await lease[Symbol.asyncDispose]();
      const container = engine.docker.getContainer(lease.session.container ?? "");
      if (line === "2") await container.pause();
      else if (line === "3") await container.stop();
      else await container.remove({ force: true });
    }
    await using lease = await bind("42");
    expect(await exec(lease, "cat lines.txt")).toBe("1\n2\n3\n4\n5\n");
  });

  it("takes its own boxes over at the start, removes what has no record, and touches nobody else's", async () => {
    proves("BOX-13");
    await using other = new TestEngine();
    const kept = await bind("kept");
    const stray = await bind("stray");
    const { place: foreign } = await other.startBox();
    await stores.sessions.remove(stray.session.id);
    await service[Symbol.asyncDispose]();
    let lists = 0;
    const listOwned = engine.backend.listOwned.bind(engine.backend);
    engine.backend.listOwned = async (options) => {
      lists += 1;
      if (lists === 1) throw new Error("list failed");
      return listOwned(options);
    };
    await using failing = aService();
    await failing.start(FOREVER);
    expect((await listOwned(FOREVER)).containers).toHaveLength(2);
    service = aService();
    await service.start(FOREVER);
    const owned = await listOwned(FOREVER);
    expect(owned.containers.map(({ name }) => name)).toEqual([kept.session.container]);
    expect(owned.volumes).toEqual([kept.session.volume]);
    expect(await other.backend.inspect(foreign.container, FOREVER)).toMatchObject({ state: "running" });
    await using again = await bind("kept");
    expect([again.session.container, again.notes]).toEqual([kept.session.container, []]);
  });

  it("keeps the workspace of a box whose container went, until the retention; then the model is told", async () => {
    proves("BOX-27");
    await service[Symbol.asyncDispose]();
    service = aService(engine.backend, { idleTtlSec: 1 });
    await service.start(FOREVER);
    expect(await use("echo kept > kept.txt")).toEqual([[], ""]);
    clock.advance(10 * DAY_MS);
    await expect.poll(containers, { timeout: 20_000 }).toEqual([]);
    expect(await use("cat kept.txt")).toEqual([[BOX_NOTES.rested], "kept\n"]);
    clock.advance(13 * DAY_MS);
    await expect.poll(containers, { timeout: 20_000 }).toEqual([]);
    await service[Symbol.asyncDispose]();
    service = aService();
    await service.start(FOREVER);
    expect((await engine.backend.listOwned(FOREVER)).volumes).toHaveLength(1);
    expect(await use("cat kept.txt; rm kept.txt; echo new > new.txt")).toEqual([
      [BOX_NOTES.rested],
      "kept\n",
    ]);
    clock.advance(15 * DAY_MS);
    await service[Symbol.asyncDispose]();
    const [session] = await stores.sessions.listAll();
    await engine.backend.removeContainer(session?.container ?? "", FOREVER);
    await stores.sessions.update(session?.id ?? "ses_", { container: null });
    service = aService();
    await service.start(FOREVER);
    expect(await use("ls new.txt 2>/dev/null | wc -l")).toEqual([[BOX_NOTES.expired], "0\n"]);
  });

  it("removes ten workspaces that are due, and gives their disk back; one that is not due stays", async () => {
    proves("BOX-21");
    await service[Symbol.asyncDispose]();
    service = aService(engine.backend, { maxBoxes: 11, idleTtlSec: 1 });
    await service.start(FOREVER);
    for (let i = 0; i < 10; i += 1) await fill(`due-${i}`);
    clock.advance(10 * DAY_MS);
    const kept = await fill("kept");
    const before = await usedBytes(engine);
    clock.advance(5 * DAY_MS);
    await expect.poll(containers, { timeout: 60_000 }).toEqual([]);
    await service[Symbol.asyncDispose]();
    service = aService();
    await service.start(FOREVER);
    expect((await engine.backend.listOwned(FOREVER)).volumes).toEqual([kept]);
    expect(before).toBeGreaterThanOrEqual(44_000_000);
    expect(await usedBytes(engine)).toBeLessThan(5_000_000);
  });

  it("gives the disk back when workspaces are due", async () => {
    const lease = await bind("42");
    await exec(lease, "head -c 1000000 /dev/zero > big");
    await lease[Symbol.asyncDispose]();
    await engine.backend.removeContainer(lease.session.container ?? "", FOREVER);
    await stores.sessions.update(lease.session.id, { container: null });
    await service[Symbol.asyncDispose]();
    clock.advance(15 * DAY_MS);
    service = aService();
    await service.start(FOREVER);
    expect((await engine.backend.listOwned(FOREVER)).volumes).toEqual([]);
    await using next = await bind("42");
    expect([next.notes, await exec(next, "ls big 2>/dev/null | wc -l")]).toEqual([
      [BOX_NOTES.expired],
      "0\n",
    ]);
  });
});

/** Bytes that the volumes of the service take on the engine's disk. */
async function usedBytes({ docker, serviceId }: TestEngine): Promise<number> {
  const usage = z.object({
    Volumes: z.array(
      z.object({
        Labels: z.record(z.string(), z.string()).nullish(),
        UsageData: z.object({ Size: z.number() }).nullish(),
      }),
    ),
  });
  const { Volumes: volumes } = usage.parse(await docker.df());
  const own = volumes.filter(({ Labels: labels }) => labels?.["berth.service"] === serviceId);
  return own.reduce((sum, { UsageData: data }) => sum + (data?.Size ?? 0), 0);
}

/** Attachments of these names; each holds its own number. */
async function aRequest(
  blobs: MemoryStores["blobs"],
  inbox: string,
  names: readonly string[],
): Promise<ImportRequest> {
  const sources: ImportRequest["sources"][number][] = [];
  for (const index of names.keys()) {
    await using staging = await blobs.stage();
    await staging.write(Buffer.from(String(index)));
    sources.push({ kind: "blob", ...(await staging.commit()) });
  }
  const bare = {
    type: "file",
    source: "base64",
    url: null,
    id: null,
    mime_type: null,
    size: null,
    path: null,
  } as const;
  return {
    inbox,
    attachments: names.map((name, index) => ({ ...bare, reference: `attachment-${index}`, name })),
    sources,
    outcomes: [],
    limits: { maxFileBytes: 1000, maxFiles: 10, maxTotalBytes: 5000, urlTimeoutMs: 1000 },
  };
}
