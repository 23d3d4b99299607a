import { describe, expect, it } from "vitest";
import { type RevivingDeps, RevivingHandle } from "../../../src/box/reviving-handle.js";
import { ServiceError } from "../../../src/domain/errors.js";
import { BOX_DELETED_NOTE, BOX_ENDED_NOTE } from "../../../src/domain/exec-outcome.js";
import type { BoxHandle } from "../../../src/ports/box-handle.js";
import { FakeBoxBackend } from "../../fakes/fake-box-backend.js";
import { ENDLESS, SETTINGS } from "./box-world.js";

const ROOT = "/workspace";
/** Reopens nothing, and belongs to a session that is there. */
const PLAIN: RevivingDeps = { reopen: async () => null, askDeleted: async () => false, env: {} };

async function collect<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

async function* content(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("abc");
}

/** A handle on a box of the fake engine, and a way to lose the box. */
async function aHandle(reopens = true) {
  const backend = new FakeBoxBackend();
  const place = { sessionId: "ses_a", tenant: "main", uid: 30_001, volume: "v", container: "c" } as const;
  const count = { reopened: 0, disposed: 0 };
  const open = async (): Promise<BoxHandle> => {
    await backend.prepareWorkspace(place, SETTINGS, ENDLESS);
    await backend.start(place, SETTINGS, ENDLESS);
    const opened = await backend.open(place, ENDLESS);
    const dispose = opened[Symbol.asyncDispose].bind(opened);
    opened[Symbol.asyncDispose] = async () => {
      count.disposed += 1;
      await dispose();
    };
    return opened;
  };
  const first = await open();
  const handle = new RevivingHandle(first, {
    ...PLAIN,
    reopen: async () => {
      count.reopened += 1;
      return reopens ? { handle: await open(), notes: [`Lost ${count.reopened}.`] } : null;
    },
  });
  const echo = () =>
    collect(handle.exec({ argv: ["sh", "-c", "echo hi"], workdir: ROOT, env: {}, timeoutMs: 1000 }, ENDLESS));
  return { first, handle, count, echo, lose: () => backend.killContainer("c") };
}

describe("RevivingHandle", () => {
  it("passes everything on while the box runs", async () => {
    const { handle, count, echo } = await aHandle();
    expect((await echo()).at(-1)).toMatchObject({ exit: { status: "completed", notes: [] } });
    expect(await handle.files.stat([ROOT], ENDLESS)).toMatchObject([{ entry: { kind: "directory" } }]);
    await handle[Symbol.asyncDispose]();
    expect(count).toEqual({ reopened: 0, disposed: 1 });
  });

  it("gives commands, jobs and terminals the variables of the box; their own win", async () => {
    const { first } = await aHandle();
    const seen: unknown[] = [];
    const [exec, spawn] = [first.exec.bind(first), first.spawn.bind(first)];
    first.exec = (request, options) => {
      seen.push(request.env);
      return exec(request, options);
    };
    first.spawn = (request, options) => {
      seen.push(request.env);
      return spawn(request, options);
    };
    const handle = new RevivingHandle(first, { ...PLAIN, env: { TZ: "UTC", LANG: "C" } });
    const request = { argv: ["sh", "-c", "echo hi"], workdir: ROOT, env: { LANG: "de" } };
    await collect(handle.exec({ ...request, timeoutMs: 1000 }, ENDLESS));
    await using _process = await handle.spawn({ ...request, terminal: null }, ENDLESS);
    expect(seen).toEqual([
      { TZ: "UTC", LANG: "de" },
      { TZ: "UTC", LANG: "de" },
    ]);
    await handle[Symbol.asyncDispose]();
  });

  it("runs a command in another box when its own is gone, and the result says once what was lost", async () => {
    const { handle, count, echo, lose } = await aHandle();
    lose();
    expect((await echo()).at(-1)).toMatchObject({ exit: { exitCode: 0, notes: ["Lost 1."] } });
    expect((await echo()).at(-1)).toMatchObject({ exit: { exitCode: 0, notes: [] } });
    await handle[Symbol.asyncDispose]();
    expect(count).toEqual({ reopened: 1, disposed: 2 });
  });

  it("does every file request in another box when its own is gone", async () => {
    const { handle, count, echo, lose } = await aHandle();
    const { files } = handle;
    const path = `${ROOT}/a.txt`;
    const requests: readonly (() => Promise<unknown>)[] = [
      () => files.write([{ path, mode: "create", sizeBytes: 3, content: content() }], ENDLESS),
      () => files.stat([path], ENDLESS),
      () => collect(files.read([{ path, offset: 0, length: 3 }], ENDLESS)),
      () => files.list({ path: ROOT, depth: 1, maxEntries: 10, skip: [] }, ENDLESS),
      () => files.remove([{ path }], ENDLESS),
      () => files.resetDirectories([`${ROOT}/d`], ENDLESS),
    ];
    for (const [i, request] of requests.entries()) {
      lose();
      expect(JSON.stringify((await request()) ?? "")).not.toContain("fault");
      expect(count.reopened).toBe(i + 1);
    }
    const notes = requests.map((_request, i) => `Lost ${i + 1}.`);
    expect((await echo()).at(-1)).toMatchObject({ exit: { notes } });
  });

  it("gets one other box for all who miss theirs at once", async () => {
    const { count, echo, lose } = await aHandle();
    lose();
    const all = await Promise.all([echo(), echo(), echo()]);
    expect(all.map((events) => events.at(-1))).toMatchObject(all.map(() => ({ exit: { exitCode: 0 } })));
    expect(count.reopened).toBe(1);
  });

  it("uses the box that another call has got meanwhile", async () => {
    const { first, handle, count, echo, lose } = await aHandle();
    const found = new AbortController();
    first.files.stat = async () => {
      await new Promise((resolve) => found.signal.addEventListener("abort", resolve));
      throw new ServiceError("box.readiness", "The box does not run.");
    };
    const late = handle.files.stat([ROOT], ENDLESS);
    lose();
    await echo();
    found.abort();
    expect(await late).toMatchObject([{ entry: { kind: "directory" } }]);
    expect(count.reopened).toBe(1);
  });

  it("is renewed after its lease had the box started anew, and tells nothing where the box ran on", async () => {
    for (const [reopens, notes] of [
      [true, ["Stopped."]],
      [false, []],
    ] as const) {
      const { handle, echo } = await aHandle(reopens);
      await handle.renew(["Stopped."], ENDLESS);
      expect((await echo()).at(-1)).toMatchObject({ exit: { notes } });
    }
  });

  it("starts a process in another box when its own is gone", async () => {
    const { handle, count, lose } = await aHandle();
    lose();
    await using process = await handle.spawn(
      { argv: ["true"], workdir: ROOT, env: {}, terminal: null },
      ENDLESS,
    );
    expect((await collect(process.events)).at(-1)).toMatchObject({ exit: { exitCode: 0 } });
    expect(count.reopened).toBe(1);
    await handle[Symbol.asyncDispose]();
  });

  it("repeats nothing when the box runs as it did, or cannot be had: the failure stands", async () => {
    const { count, echo, lose } = await aHandle(false);
    lose();
    await expect(echo()).rejects.toMatchObject({ code: "box.readiness" });
    expect(count.reopened).toBe(1);
  });

  it("repeats nothing that failed for another reason, or that had begun", async () => {
    const { handle, count } = await aHandle();
    handle.files.stat = async () => {
      throw new ServiceError("box.engine_unavailable", "Unknown.");
    };
    const lost = new ServiceError("box.readiness", "The box does not run.");
    await using first: BoxHandle = {
      files: {
        ...handle.files,
        async *read() {
          yield* [];
          throw new ServiceError("box.engine_unavailable", "Unknown.");
        },
      },
      async *exec() {
        yield { type: "output", stream: "stdout", bytes: Buffer.from("a") };
        throw lost;
      },
      spawn: async () => {
        throw lost;
      },
      [Symbol.asyncDispose]: async () => {},
    };
    const other = new RevivingHandle(first, {
      ...PLAIN,
      reopen: async () => {
        count.reopened += 1;
        return null;
      },
    });
    await expect(other.files.stat([ROOT], ENDLESS)).rejects.toMatchObject({ code: "box.engine_unavailable" });
    await expect(collect(other.files.read([], ENDLESS))).rejects.toMatchObject({
      code: "box.engine_unavailable",
    });
    const request = { argv: ["true"], workdir: ROOT, env: {}, timeoutMs: 1 };
    await expect(collect(other.exec(request, ENDLESS))).rejects.toBe(lost);
    expect(count.reopened).toBe(0);
  });

  it.each([
    [true, BOX_DELETED_NOTE],
    [false, BOX_ENDED_NOTE],
  ])("says what is left of the files of a box that ended (deleted: %s)", async (isDeleted, note) => {
    const { first } = await aHandle();
    const exit = {
      status: "killed",
      exitCode: null,
      durationMs: 1,
      leftovers: 0,
      notes: ["Before.", BOX_ENDED_NOTE],
    } as const;
    await using ending: BoxHandle = {
      files: first.files,
      spawn: async (request, options) => first.spawn(request, options),
      async *exec() {
        yield { type: "exit", exit };
      },
      [Symbol.asyncDispose]: async () => {},
    };
    const handle = new RevivingHandle(ending, { ...PLAIN, askDeleted: async () => isDeleted });
    const request = { argv: ["true"], workdir: ROOT, env: {}, timeoutMs: 1 };
    expect(await collect(handle.exec(request, ENDLESS))).toMatchObject([
      { exit: { notes: ["Before.", note] } },
    ]);
    const cancelled = { signal: AbortSignal.abort() };
    expect(await collect(handle.exec(request, cancelled))).toMatchObject([
      { exit: { notes: ["Before.", BOX_ENDED_NOTE] } },
    ]);
  });

  it("gets nobody another box after an abort", async () => {
    const { handle, count, lose } = await aHandle();
    lose();
    const controller = new AbortController();
    const asked = handle.files.stat([ROOT], { signal: controller.signal });
    controller.abort(new Error("left"));
    await expect(asked).rejects.toThrow("left");
    expect(count.reopened).toBe(0);
  });
});
