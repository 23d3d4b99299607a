/** Files of a box that fights back: hostile trees, races, floods. Nothing foreign may come out, nothing may hang. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { BoxHandle, FileStreamEvent, ReadRequest, WriteRequest } from "../../src/ports/box-handle.js";
import { run } from "../contracts/box-backend.js";
import { FOREVER, hasEngine, TestEngine } from "../support/engine.js";
import { proves } from "../support/proves.js";

const RACE_MS = 3000;
const MIB = 1024 * 1024;

/** Names, kinds and places that have fooled others; run inside the box. */
const HOSTILE_TREE = `
import os, socket, sys
os.chdir(sys.argv[1])
def put(path, data=b"data"):
    with open(path, "wb") as file: file.write(data)
put("plain", b"hello")
os.symlink("/etc/passwd", "link-absolute")
os.symlink("../../../../../../../../etc/shadow", "link-up")
os.symlink("plain", "link-inside")
os.symlink("loop-b", "loop-a"); os.symlink("loop-a", "loop-b")
os.symlink("nowhere", "link-dangling")
os.symlink("/", "dir-root"); os.symlink("/etc", "dir-etc"); os.symlink("/proc/self/root", "dir-proc"); os.symlink(".", "dir-self")
put("hard-a"); os.link("hard-a", "hard-b")
os.mkfifo("fifo")
with socket.socket(socket.AF_UNIX) as one: one.bind("socket")
put("mode-000"); os.chmod("mode-000", 0)
os.mkdir("closed"); put("closed/inside"); os.chmod("closed", 0)
put("suid"); os.chmod("suid", 0o6755)
for name in ("a\\nb", "a\\r\\nSet-Cookie: x=1", "\\x1b[2Jx", "invoice\\u202efdp.exe", "..\\\\..\\\\win.ini", "n" * 255, "*", "$(id)", "-rf"):
    put(name, name.encode())
put(b"\\xff\\xfe\\x80.bin", b"unnameable")
put("caf\\u00e9", b"composed"); put("cafe\\u0301", b"decomposed")
for target in ("/etc/passwd", "/usr/bin/python3"):
    try: os.link(target, "hard-foreign")
    except OSError: pass
for kind in (0o020666, 0o060666):
    try: os.mknod("device", kind, os.makedev(1, 5))
    except OSError: pass
`;

/** Stops every file worker that appears, until the file `stop` is there. */
const STOP_FILE_WORKERS = `
import os, signal, time
if os.fork() == 0:
    for fd in (1, 2): os.close(fd)
    mark = b"File oper" + b"ations"
    while not os.path.exists("stop"):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as file:
                    if mark in file.read(): os.kill(int(pid), signal.SIGSTOP)
            except OSError: pass
    os._exit(0)
time.sleep(0.1)
`;

describe.skipIf(!hasEngine())("files in a box of a Docker engine", () => {
  let engine: TestEngine;
  let box: BoxHandle;
  let count = 0;
  let directory = "";

  beforeAll(async () => {
    engine = new TestEngine();
    ({ box } = await engine.startBox());
  });
  afterAll(async () => {
    await box[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    count += 1;
    directory = `/workspace/files/${count}`;
    await box.files.resetDirectories([directory], FOREVER);
  });

  const python = async (text: string, ...args: readonly string[]) =>
    run(box, ["python3", "-c", text, ...args], { workdir: directory });
  const shell = async (text: string) => (await run(box, ["sh", "-c", text], { workdir: directory })).stdout;

  async function readAll(requests: readonly ReadRequest[]): Promise<readonly FileStreamEvent[]> {
    const events: FileStreamEvent[] = [];
    for await (const event of box.files.read(requests, FOREVER)) events.push(event);
    return events;
  }

  /** What became of each path: its text, or why there is none. */
  async function outcomes(paths: readonly string[]): Promise<readonly string[]> {
    const results = paths.map(() => "");
    for (const event of await readAll(
      paths.map((path) => ({ path, offset: 0, length: Number.POSITIVE_INFINITY })),
    )) {
      if (event.type === "bytes") results[event.index] += Buffer.from(event.bytes).toString("utf8");
      if (event.type === "fault") results[event.index] = `! ${event.fault}`;
    }
    return results;
  }

  it("finds in one call what another one wrote", async () => {
    proves("BOX-02");
    await box.files.write([aWrite(`${directory}/note.txt`, "from a file call")], FOREVER);
    expect(await shell("cat note.txt; echo from a command > other.txt")).toBe("from a file call");
    expect(await outcomes([`${directory}/other.txt`])).toEqual(["from a command\n"]);
  });

  it("gives no byte that is not the box's own, for every hostile name, link and kind", async () => {
    expect((await python(HOSTILE_TREE, directory)).stderr).toBe("");
    const names = {
      plain: "hello",
      "link-absolute": "! not_regular",
      "link-up": "! not_regular",
      "link-inside": "! not_regular",
      "loop-a": "! not_regular",
      "link-dangling": "! not_regular",
      "dir-root/etc/passwd": "! symlink_component",
      "dir-etc/shadow": "! symlink_component",
      "dir-proc/etc/hostname": "! symlink_component",
      "dir-self/plain": "! symlink_component",
      "hard-a": "data",
      fifo: "! not_regular",
      socket: "! not_regular",
      device: "! not_found",
      "hard-foreign": "! not_found",
      "mode-000": "! unreadable",
      "closed/inside": "! unreadable",
      closed: "! not_regular",
      suid: "data",
      "a\nb": "a\nb",
      "a\r\nSet-Cookie: x=1": "a\r\nSet-Cookie: x=1",
      "\u001b[2Jx": "\u001b[2Jx",
      "invoice\u202efdp.exe": "invoice\u202efdp.exe",
      "..\\..\\win.ini": "..\\..\\win.ini",
      ["n".repeat(255)]: "n".repeat(255),
      "*": "*",
      "$(id)": "$(id)",
      "-rf": "-rf",
      "\ufffd\ufffd\ufffd.bin": "! not_found",
      "caf\u00e9": "composed",
      "cafe\u0301": "decomposed",
      "%2e%2e/plain": "! not_found",
      "plain/": "hello",
    };
    const paths = Object.keys(names).map((name) => `${directory}/${name}`);
    expect(await outcomes(paths)).toEqual(Object.values(names));
    const foreign = ["/etc/passwd", "/proc/self/environ", "/dev/zero", `${directory}/../../../etc/passwd`];
    expect(await outcomes(foreign)).toEqual(foreign.map(() => "! escapes"));
  });

  it("lists a hostile tree without a step outside, and shows names that are no text with marks", async () => {
    await python(HOSTILE_TREE, directory);
    const answer = await box.files.list({ path: directory, depth: 5, maxEntries: 1000, skip: [] }, FOREVER);
    if (!answer.ok) throw new Error(answer.fault);
    const names = answer.entries.map(({ path }) => path.slice(directory.length + 1));
    expect(names.every((name) => !name.startsWith("dir-root/") && !name.startsWith("dir-etc/"))).toBe(true);
    expect(names).toContain("\ufffd\ufffd\ufffd.bin");
    expect(names).not.toContain("closed/inside");
    const kinds = new Map(
      answer.entries.map(({ path, kind, linkCount }) => [
        path.slice(directory.length + 1),
        [kind, linkCount],
      ]),
    );
    expect(kinds.get("dir-root")).toEqual(["link", 1]);
    expect(kinds.get("fifo")).toEqual(["other", 1]);
    expect(kinds.get("socket")).toEqual(["other", 1]);
    expect(kinds.get("hard-b")).toEqual(["file", 2]);
  });

  it("removes hostile trees whole: deep, wide, closed and full of links", async () => {
    await python(HOSTILE_TREE, directory);
    await python(`
import os
for i in range(2000): open("many-%05d" % i, "w").close()
for i in range(300):
    os.mkdir("d" * 200); os.chdir("d" * 200); open("file", "w").close()
os.chmod(".", 0)
`);
    const [answer] = await box.files.remove([{ path: directory, recursive: true }], FOREVER);
    expect(answer).toEqual({ path: directory, ok: true });
    expect(await outcomes([`${directory}/plain`])).toEqual(["! not_found"]);
    expect((await run(box, ["head", "-c", "4", "/etc/passwd"])).stdout).toBe("root");
  });

  it("says that there is no space, and leaves nothing of the file", async () => {
    const { box: small, place: smallPlace } = await engine.startBox({ workspaceQuotaMb: 1 });
    const bytes = Buffer.alloc(2 * MIB, "x");
    const [created] = await small.files.write([aWrite("/workspace/big", bytes)], FOREVER);
    const space = "One file may have 1 MiB at most, and this one would have 2 MiB. Write less, or split it.";
    expect(created).toEqual({ ok: false, fault: "no_space", space });
    await small.files.write([aWrite("/workspace/log", "kept")], FOREVER);
    const [appended] = await small.files.write(
      [aWrite("/workspace/log", bytes, { mode: "append" })],
      FOREVER,
    );
    expect(appended).toEqual({ ok: false, fault: "no_space", space });
    expect(
      (await run(small, ["sh", "-c", "ls -A | grep -v -e inbox -e outbox -e .home -e .tool; cat log"]))
        .stdout,
    ).toBe("log\nkept");
    await small[Symbol.asyncDispose]();
    await engine.backend.removeContainer(smallPlace.container, FOREVER);
  });

  it("refuses writes into a read-only workspace", async () => {
    const { box: fixed } = await engine.startBox({ workspaceMode: "ro" });
    expect(await fixed.files.write([aWrite("/workspace/x", "x")], FOREVER)).toEqual([
      { ok: false, fault: "denied" },
    ]);
    expect(await fixed.files.remove([{ path: "/workspace/inbox", recursive: true }], FOREVER)).toMatchObject([
      { ok: false },
    ]);
    await fixed[Symbol.asyncDispose]();
  });

  it("moves 100 MB in and out with flat memory", async () => {
    const before = process.memoryUsage().rss;
    const peak = { bytes: 0 };
    const [answer] = await box.files.write(
      [{ path: `${directory}/large`, mode: "create", sizeBytes: 100 * MIB, content: counted(100, peak) }],
      FOREVER,
    );
    expect(answer).toMatchObject({ ok: true, entry: { sizeBytes: 100 * MIB } });
    let sizeBytes = 0;
    const request = { path: `${directory}/large`, offset: 0, length: Number.POSITIVE_INFINITY };
    for await (const event of box.files.read([request], FOREVER)) {
      if (event.type === "bytes") sizeBytes += event.bytes.length;
      peak.bytes = Math.max(peak.bytes, process.memoryUsage().rss);
    }
    expect(sizeBytes).toBe(100 * MIB);
    expect(peak.bytes - before).toBeLessThan(60 * MIB);
    expect(await shell("sha256sum < large")).toBe(
      await shell("head -c 104857600 /dev/zero | tr '\\0' 'z' | sha256sum"),
    );
  });

  it.each([
    ["a file", "ln -s /etc/passwd t; mv -f t f; printf mine > s; mv -f s f"],
    ["a directory", "mv d e; ln -s /etc d; rm d; mv e d"],
    ["a pipe", "mkfifo p; mv -f p f; printf mine > s; mv -f s f"],
  ])("gives no foreign byte and does not hang while %s is swapped again and again", async (_what, swap) => {
    await shell("printf mine > f; mkdir d; printf mine > d/passwd");
    await shell(`(while [ ! -e stop ]; do ${swap}; done) >/dev/null 2>&1 & sleep 0.2`);
    const targets = Array.from(
      { length: 400 },
      (_none, i) => `${directory}/${i % 2 === 0 ? "f" : "d/passwd"}`,
    );
    const seen = new Set<string>();
    const until = performance.now() + RACE_MS;
    let tries = 0;
    while (performance.now() < until) {
      for (const outcome of await outcomes(targets)) seen.add(outcome);
      tries += targets.length;
    }
    await shell("touch stop");
    const allowed = new Set([
      "mine",
      "",
      "! not_found",
      "! not_regular",
      "! symlink_component",
      "! changed",
      "! not_directory",
    ]);
    expect([...seen].filter((outcome) => !allowed.has(outcome))).toEqual([]);
    expect(tries).toBeGreaterThan(400);
  });

  it("gives no torn file while one is written over, cut and extended again and again", async () => {
    await python(`
import os
if os.fork() == 0:
    import time
    for fd in (1, 2): os.close(fd)
    letters = b"abcdefgh"
    i = 0
    while not os.path.exists("stop"):
        i += 1
        data = letters[i % 8:i % 8 + 1] * 150000
        with open("f", "wb" if i % 7 == 1 else "r+b", buffering=0) as file:
            file.write(data)
            if i % 5 == 0: file.truncate(100000)
        if i % 3 == 0: time.sleep(0.05)
    os._exit(0)
import time; time.sleep(0.2)
`);
    const request = { path: `${directory}/f`, offset: 0, length: Number.POSITIVE_INFINITY };
    const torn: string[] = [];
    let whole = 0;
    const until = performance.now() + RACE_MS;
    while (performance.now() < until) {
      let text = "";
      for (const event of await readAll(Array.from({ length: 40 }, () => request))) {
        if (event.type === "entry") text = "";
        if (event.type === "bytes") text += Buffer.from(event.bytes).toString("latin1");
        if (event.type !== "end") continue;
        whole += 1;
        if (new Set(text).size > 1) torn.push(text.slice(0, 10));
      }
    }
    await shell("touch stop");
    expect(torn).toEqual([]);
    expect(whole).toBeGreaterThan(0);
  });

  it("writes and removes nothing outside while a directory is swapped for a link again and again", async () => {
    await shell("mkdir d; mkdir -p /tmp/outside; printf keep > /tmp/outside/keep");
    await shell(
      "(while [ ! -e stop ]; do mv d e; ln -s /tmp/outside d; rm d; mv e d; done) >/dev/null 2>&1 & sleep 0.2",
    );
    const until = performance.now() + RACE_MS;
    let written = 0;
    while (performance.now() < until) {
      const writes = Array.from({ length: 40 }, (_none, i) =>
        aWrite(`${directory}/d/w${i}`, "x", { mode: "overwrite" }),
      );
      written += (await box.files.write(writes, FOREVER)).filter(({ ok }) => ok).length;
      await box.files.remove([{ path: `${directory}/d/keep` }, { path: `${directory}/d/w0` }], FOREVER);
    }
    await shell("touch stop");
    expect(await shell("ls /tmp/outside; cat /tmp/outside/keep")).toBe("keep\nkeep");
    expect(written).toBeGreaterThan(0);
  });

  it("replaces whatever a box puts in the way of a new run's directory", async () => {
    await shell(
      "rm -rf /workspace/inbox; ln -s /tmp /workspace/inbox; rm -rf /workspace/outbox; mkfifo /workspace/outbox",
    );
    await box.files.resetDirectories(["/workspace/inbox/run_1", "/workspace/outbox/run_1"], FOREVER);
    expect(
      await shell("stat -c '%F' /workspace/inbox /workspace/inbox/run_1 /workspace/outbox/run_1; ls -A /tmp"),
    ).toMatch(/^directory\ndirectory\ndirectory\n(?!.*run_1)/);
  });

  it("does not hang on a worker of the engine that the box has stopped", async () => {
    await using own = new TestEngine("engine");
    const stopped = await own.startBox();
    await using handle = stopped.box;
    const command = (argv: readonly string[]) => run(handle, argv, { workdir: "/workspace" });
    await command(["python3", "-c", STOP_FILE_WORKERS]);
    const reason = new Error("given up");
    const cancel = new AbortController();
    const timer = setTimeout(() => cancel.abort(reason), 1500);
    await expect(handle.files.stat(["/workspace"], cancel)).rejects.toBe(reason);
    clearTimeout(timer);
    await command(["touch", "/workspace/stop"]);
    expect(await handle.files.stat(["/workspace/stop"], FOREVER)).toMatchObject([
      { entry: { kind: "file" } },
    ]);
    expect((await own.backend.inspect(stopped.place.container, FOREVER))?.state).toBe("running");
  });
});

function aWrite(
  path: string,
  content: string | Uint8Array,
  fields: Partial<WriteRequest> = {},
): WriteRequest {
  const bytes = Buffer.from(content);
  return { path, mode: "create", sizeBytes: bytes.length, content: once(bytes), ...fields };
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

/** So many MiB of one letter, made as they are asked for. */
async function* counted(mib: number, peak: { bytes: number }): AsyncIterable<Uint8Array> {
  for (let i = 0; i < mib; i += 1) {
    yield Buffer.alloc(MIB, "z");
    peak.bytes = Math.max(peak.bytes, process.memoryUsage().rss);
  }
}
