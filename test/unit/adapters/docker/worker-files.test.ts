import { afterEach, describe, expect, it, vi } from "vitest";
import { WorkerFiles } from "../../../../src/adapters/docker/worker-files.js";
import type { WriteRequest } from "../../../../src/ports/box-handle.js";
import { textLike } from "../../../support/text-like.js";
import { ENTRY, frame, ScriptedLink } from "./scripted-link.js";

const FOREVER = { signal: new AbortController().signal };

function filesOver(link: ScriptedLink): { readonly files: WorkerFiles; readonly bodies: unknown[] } {
  const bodies: unknown[] = [];
  const files = new WorkerFiles(async (kind, body) => {
    bodies.push({ kind, body });
    return Promise.resolve(link);
  });
  return { files, bodies };
}

async function drain<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

function aWrite(path: string, text: string, fields: Partial<WriteRequest> = {}): WriteRequest {
  return { path, mode: "create", sizeBytes: text.length, content: once(text), ...fields };
}

async function* once(text: string) {
  yield Buffer.from(text);
}

afterEach(() => {
  vi.useRealTimers();
});

describe("WorkerFiles", () => {
  it("takes nothing while the host's disk is down to its reserve, and says what is known of the room", async () => {
    let asked = 0;
    let isFull = true;
    const link = new ScriptedLink([frame("fault", 0, "no_space"), frame("done")]);
    const files = new WorkerFiles(
      async () => {
        asked += 1;
        return Promise.resolve(link);
      },
      {
        isHostFull: async () => Promise.resolve(isFull),
        explainNoSpace: async (sizeBytes) => Promise.resolve(`${isFull} ${sizeBytes}`),
      },
    );
    const write = async () => files.write([aWrite("/workspace/a", "hello")], FOREVER);
    expect(await write()).toEqual([{ ok: false, fault: "no_space", space: "true 5" }]);
    expect(asked).toBe(0);
    isFull = false;
    expect(await write()).toEqual([{ ok: false, fault: "no_space", space: "false 5" }]);
    expect(asked).toBe(1);
  });

  it("asks for a selection in one request and gives one answer per path, in order", async () => {
    const link = new ScriptedLink([frame("entry", 0, ENTRY), frame("fault", 1, "not_found"), frame("done")]);
    const { files, bodies } = filesOver(link);
    const answers = await files.stat(["/workspace/a//b", "/etc"], FOREVER);
    expect(bodies).toEqual([
      { kind: "files", body: { op: "stat", items: [{ parts: ["a", "b"] }, { fault: "escapes" }] } },
    ]);
    expect(answers).toMatchObject([
      { path: "/workspace/a//b", entry: { path: "/workspace/a/b" } },
      { path: "/etc", fault: "not_found" },
    ]);
    expect(link.isDisposed).toBe(true);
  });

  it.each([
    ["an answer too few", [frame("entry", 0, ENTRY), frame("done")]],
    ["an answer too many", [0, 1, 2].map((index) => frame("entry", index, ENTRY))],
    ["answers in another order", [frame("entry", 1, ENTRY)]],
    ["no end", [frame("entry", 0, ENTRY), frame("entry", 1, ENTRY), null]],
    ["a broken stream", [new Error("ECONNRESET")]],
    ["a fault that no path has", [frame("fault", 0, "exists")]],
  ])("does not know the outcome after %s", async (_what, frames) => {
    const link = new ScriptedLink(frames);
    await expect(filesOver(link).files.stat(["/workspace/a", "/workspace/b"], FOREVER)).rejects.toMatchObject(
      {
        code: "box.engine_unavailable",
      },
    );
    expect(link.isDisposed).toBe(true);
  });

  it("reads with offset, length and version, and frees the worker when the reader leaves early", async () => {
    const link = new ScriptedLink([frame("entry", 0, ENTRY), frame("bytes", 0, Buffer.from("he"))], true);
    const { files, bodies } = filesOver(link);
    const requests = [
      { path: "/workspace/a", offset: 1, length: 2, version: "v1" },
      { path: "/workspace/b", offset: 0, length: Number.POSITIVE_INFINITY },
    ];
    for await (const event of files.read(requests, FOREVER)) if (event.type === "bytes") break;
    expect(bodies).toEqual([
      {
        kind: "files",
        body: {
          op: "read",
          items: [
            { parts: ["a"], offset: 1, length: 2, version: "v1" },
            { parts: ["b"], offset: 0 },
          ],
        },
      },
    ]);
    expect(link.isDisposed).toBe(true);
  });

  it("does not take the end of the request for the end of all files", async () => {
    const link = new ScriptedLink([frame("done")]);
    const request = { path: "/workspace/a", offset: 0, length: 1 };
    await expect(drain(filesOver(link).files.read([request], FOREVER))).rejects.toMatchObject({
      code: "box.engine_unavailable",
    });
  });

  it("sends every content in pieces with its end, and the mode without special bits", async () => {
    const link = new ScriptedLink([], true);
    link.onSend = ({ type, index }) =>
      type === 3 ? [frame("entry", index, ENTRY), ...(index === 1 ? [frame("done")] : [])] : [];
    const { files, bodies } = filesOver(link);
    const long = "x".repeat(100_000);
    const answers = await files.write(
      [
        aWrite("/workspace/a", long, { fileMode: 0o4755 }),
        aWrite("/workspace/b", "", { mode: "overwrite", version: "v1" }),
      ],
      FOREVER,
    );
    expect(answers.map(({ ok }) => ok)).toEqual([true, true]);
    expect(link.sent.map(({ type, index, text }) => [type, index, text.length])).toEqual(
      [
        [2, 0, 65_536],
        [2, 0, 34_464],
        [3, 0, 0],
        [2, 1, 0],
        [3, 1, 0],
      ].filter(([, , length], i) => i !== 3 || length !== 0),
    );
    expect(bodies).toMatchObject([
      {
        body: {
          items: [
            { parts: ["a"], mode: "create", size: 100_000, file_mode: 0o755 },
            { parts: ["b"], mode: "overwrite", size: 0, file_mode: 0o644, version: "v1" },
          ],
        },
      },
    ]);
  });

  it.each([
    ["short", 9, /has 5 bytes where 9 were announced/],
    ["long", 2, /has more bytes where 2 were announced/],
  ])("discards a content that is too %s", async (_what, sizeBytes, message) => {
    const link = new ScriptedLink([], true);
    link.onSend = ({ type }) => (type === 4 ? [null] : []);
    const write = filesOver(link).files.write([aWrite("/workspace/a", "hello", { sizeBytes })], FOREVER);
    await expect(write).rejects.toMatchObject({
      code: "box.validation",
      message: textLike(message),
    });
    expect(link.count("discard")).toBe(1);
    expect(link.count("end")).toBe(0);
  });

  it("cuts a list that does not end, whatever the box says", async () => {
    const many = Array.from({ length: 5 }, (_none, i) => ({ ...ENTRY, names: ["d", `f${i}`] }));
    const link = new ScriptedLink([frame("entries", 0, many)], true);
    const { files, bodies } = filesOver(link);
    const answer = await files.list(
      { path: "/workspace/x/", depth: 2, maxEntries: 3, skip: [".git"] },
      FOREVER,
    );
    expect(bodies).toEqual([
      { kind: "files", body: { op: "list", parts: ["x"], depth: 2, max_entries: 3, skip: [".git"] } },
    ]);
    expect(answer).toMatchObject({ ok: true, truncated: true });
    expect(answer.ok && answer.entries.map(({ path }) => path)).toEqual([
      "/workspace/x/d/f0",
      "/workspace/x/d/f1",
      "/workspace/x/d/f2",
    ]);
  });

  it.each([[[frame("done")]], [[frame("entries", 0, []), frame("stdout")]]])(
    "does not know a list without its end",
    async (frames) => {
      const list = filesOver(new ScriptedLink(frames)).files.list(
        { path: "/workspace", depth: 1, maxEntries: 9, skip: [] },
        FOREVER,
      );
      await expect(list).rejects.toMatchObject({ code: "box.engine_unavailable" });
    },
  );

  it("names the directory that could not be made, and why", async () => {
    const link = new ScriptedLink([frame("finished", 0), frame("fault", 1, "no_space"), frame("done")]);
    await expect(
      filesOver(link).files.resetDirectories(["/workspace/a", "/workspace/b"], FOREVER),
    ).rejects.toMatchObject({
      code: "box.quota",
      details: { path: "/workspace/b", fault: "no_space" },
    });
    const denied = new ScriptedLink([frame("fault", 0, "denied"), frame("done")]);
    await expect(filesOver(denied).files.resetDirectories(["/workspace/a"], FOREVER)).rejects.toMatchObject({
      code: "box.readiness",
    });
  });

  it("lets go of a box that does nothing for 30 s", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const link = new ScriptedLink([], true);
    const lost = failureOf(filesOver(link).files.stat(["/workspace/a"], FOREVER));
    await vi.advanceTimersByTimeAsync(29_999);
    expect(link.isDisposed).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await lost).toMatchObject({
      code: "box.engine_unavailable",
      message: "The box did not answer a file request within 30 s.",
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("does not blame the box for a content that takes its time", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const link = new ScriptedLink([], true);
    link.onSend = ({ type, index }) => (type === 3 ? [frame("entry", index, ENTRY), frame("done")] : []);
    const write = filesOver(link).files.write(
      [aWrite("/workspace/a", "hello", { content: slowly() })],
      FOREVER,
    );
    await vi.advanceTimersByTimeAsync(100_000);
    expect(link.isDisposed).toBe(false);
    await vi.advanceTimersByTimeAsync(100_000);
    expect(await write).toMatchObject([{ ok: true }]);
  });

  it("stops the work when its caller gives up, with the caller's reason", async () => {
    const link = new ScriptedLink([], true);
    const cancel = new AbortController();
    const reason = new Error("given up");
    const lost = failureOf(filesOver(link).files.stat(["/workspace/a"], { signal: cancel.signal }));
    await Promise.resolve();
    cancel.abort(reason);
    expect(await lost).toBe(reason);
    expect(link.isDisposed).toBe(true);
  });

  it("stops the work when its caller gives up while content is on its way", async () => {
    const link = new ScriptedLink([], true);
    const cancel = new AbortController();
    const reason = new Error("given up");
    const content = (async function* endless() {
      yield Buffer.from("he");
      cancel.abort(reason);
      yield Buffer.from("llo");
    })();
    const write = filesOver(link).files.write([aWrite("/workspace/a", "hello", { content })], cancel);
    await expect(write).rejects.toBe(reason);
    expect(link.isDisposed).toBe(true);
  });
});

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  );
}

async function* slowly() {
  await new Promise((resolve) => {
    setTimeout(resolve, 150_000);
  });
  yield Buffer.from("hello");
}
