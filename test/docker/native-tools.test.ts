/** Every native tool against a real box. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { MemoryBlobStore } from "../../src/adapters/memory/memory-blob-store.js";
import { MemoryFileStore } from "../../src/adapters/memory/memory-file-store.js";
import { RandomIdSource } from "../../src/adapters/system/random-id-source.js";
import { SystemClock } from "../../src/adapters/system/system-clock.js";
import { exportFiles } from "../../src/box/export-files.js";
import type { RunId } from "../../src/domain/ids.js";
import type { ToolOutcome } from "../../src/domain/tool.js";
import { KeyedLock } from "../../src/lib/keyed-lock.js";
import type { BoxHandle } from "../../src/ports/box-handle.js";
import type { NativeTool, ToolBox } from "../../src/ports/tool.js";
import { nativeTools } from "../../src/tools/native/index.js";
import { FakeJobs } from "../fakes/fake-jobs.js";
import { FOREVER, hasEngine, TestEngine } from "../support/engine.js";
import { proves } from "../support/proves.js";
import { textLike } from "../support/text-like.js";

const MIB = 1024 * 1024;
const TOOLS = new Map(nativeTools({ outputChars: 4000 }).map((tool) => [tool.name, tool]));
const resultSchema = z.record(z.string(), z.unknown());

function toolNamed(name: string): NativeTool {
  const tool = TOOLS.get(name);
  if (tool === undefined) throw new Error(`There is no tool ${name}.`);
  return tool;
}

/** The box of one run, as the host gives it to tools. */
function toToolBox(engine: TestEngine, handle: BoxHandle): ToolBox {
  const runId: RunId = "run_test";
  const [inbox, outbox] = [`/workspace/inbox/${runId}`, `/workspace/outbox/${runId}`];
  const clock = new SystemClock();
  const deps = {
    files: handle.files,
    blobs: new MemoryBlobStore({ clock }),
    fileStore: new MemoryFileStore({ runs: { refersTo: () => false } }),
    locks: new KeyedLock<RunId>(),
    sniffMimeType: () => Promise.resolve("text/plain"),
    ids: new RandomIdSource(),
    clock,
  };
  const limits = { maxFileBytes: 10 * MIB, maxFiles: 100, maxTotalBytes: 50 * MIB };
  return {
    runId,
    sessionId: "ses_test",
    inbox,
    outbox,
    settings: engine.settings,
    handle,
    attachments: [],
    jobs: new FakeJobs(),
    exportFiles: (paths, options) =>
      exportFiles(deps, { tenant: "main", runId, inbox, outbox, paths, limits }, options),
  };
}

describe.skipIf(!hasEngine())("native tools in a real box", () => {
  let engine: TestEngine;
  let handle: BoxHandle;
  let box: ToolBox;
  let count = 0;
  let directory = "";

  beforeAll(async () => {
    engine = new TestEngine();
    handle = (await engine.startBox()).box;
    box = toToolBox(engine, handle);
    await handle.files.resetDirectories([box.inbox, box.outbox], FOREVER);
  });
  afterAll(async () => {
    await handle[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    count += 1;
    directory = `/workspace/t${count}`;
  });

  async function call(
    name: string,
    input: Readonly<Record<string, unknown>>,
    id = `call_${count}`,
  ): Promise<ToolOutcome> {
    for await (const event of toolNamed(name).run({ id, input }, box, FOREVER))
      if (event.type === "outcome") return event.outcome;
    throw new Error("The tool ended without an outcome.");
  }

  async function result(
    name: string,
    input: Readonly<Record<string, unknown>>,
  ): Promise<Record<string, unknown>> {
    const outcome = await call(name, input);
    if (!outcome.ok) throw new Error(outcome.error);
    return resultSchema.parse(outcome.result);
  }

  async function error(name: string, input: Readonly<Record<string, unknown>>): Promise<string> {
    const outcome = await call(name, input);
    return outcome.ok ? "" : outcome.error;
  }

  const shell = (command: string) => result("exec", { command, workdir: directory });

  it("runs commands with the run's directories in their environment", async () => {
    const ran = await shell('echo "$BERTH_INBOX $BERTH_OUTBOX $EXTRA"; pwd; echo bad >&2; exit 3');
    expect(ran).toMatchObject({
      status: "completed",
      ok: false,
      exit_code: 3,
      stderr: "bad\n",
      truncated: false,
    });
    expect(ran["stdout"]).toBe(`${box.inbox} ${box.outbox} \n${directory}\n`);
    const given = await result("exec", { command: 'printf %s "$EXTRA"', env: { EXTRA: " a'b\"$(id) " } });
    expect(given["stdout"]).toBe(" a'b\"$(id) ");
  });

  it("stops a command at its time limit and says so once", async () => {
    const ran = await result("exec", { command: "echo half; sleep 60", timeout_sec: 1 });
    expect(ran).toMatchObject({ status: "timed_out", exit_code: null, stdout: "half\n" });
    expect(ran["notes"]).toEqual([
      expect.stringMatching(/time limit of 1 s/),
      "timeout_sec can be up to 120.",
    ]);
  });

  it("marks bytes that are no UTF-8 and keeps a character that was split", async () => {
    const ran = await shell("printf '\\377\\376abc'; printf '\\344\\275'; sleep 0.2; printf '\\240'");
    expect(ran).toMatchObject({ stdout: "\uFFFD\uFFFDabc你", exit_code: 0 });
    expect(ran["notes"]).toEqual([expect.stringContaining("no UTF-8")]);
  });

  it("shows head and tail of long output and keeps all of it in the box", async () => {
    proves("BOX-11", "TOOL-09");
    const ran = await shell("seq 1 100000; echo FAIL >&2; exit 2");
    expect(ran).toMatchObject({
      exit_code: 2,
      stderr: "FAIL\n",
      stdout_bytes: 588_895,
      truncated_by: "chars",
    });
    expect(ran["stdout"]).toMatch(/^1\n2\n.*\[\.\.\. \d+ of 588895 characters .*\]\n.*\n100000\n$/su);
    const path = String(ran["output_path"]);
    expect(await result("read", { path, offset: 99_999, limit: 2 })).toMatchObject({
      // The line of the other stream may stand before the last of this one.
      content: textLike(/99999/),
      total_lines: 100_001,
    });
  });

  it("keeps the first 16 MiB of a flood, and the newest 64 MiB of all", async () => {
    for (let i = 0; i < 5; i += 1)
      await call("exec", { command: "head -c 20000000 /dev/zero | tr '\\0' y" }, `flood_${i}`);
    const kept = await shell(
      "ls /workspace/.tool-results | grep flood; du -sbc /workspace/.tool-results/* | tail -1",
    );
    expect(kept["stdout"]).toMatch(
      /^flood_2\nflood_3\nflood_4\n\d+\ttotal\n$|^flood_1\nflood_2\nflood_3\nflood_4\n\d+\ttotal\n$/,
    );
    const totalBytes = Number(/(\d+)\ttotal/.exec(String(kept["stdout"]))?.[1]);
    expect(totalBytes).toBeLessThanOrEqual(64 * MIB);
  });

  it("writes, reads, edits and keeps the mode", async () => {
    proves("TOOL-02", "TOOL-03", "TOOL-05");
    const path = `${directory}/deep/er/a b'$(id).sh`;
    expect(await result("write", { path, content: "#!/bin/sh\necho one\n" })).toMatchObject({
      ok: true,
      size: 19,
    });
    await result("exec", { command: `chmod 755 ${directory}/deep/er/*` });
    expect(await result("edit", { path, old_string: "one", new_string: "zwei" })).toMatchObject({
      size: 20,
      line: 2,
    });
    await result("write", { path, content: "echo three\n", mode: "append" });
    expect((await result("exec", { command: `${directory}/deep/er/*.sh` }))["stdout"]).toBe("zwei\nthree\n");
    expect(await result("read", { path })).toMatchObject({
      content: "#!/bin/sh\necho zwei\necho three",
      total_lines: 3,
    });
    expect(await result("read", { path, offset: 2, limit: 1 })).toMatchObject({
      content: "echo zwei",
      truncated_by: "lines",
      start_line: 2,
      end_line: 2,
      next_offset: 3,
    });
    expect(await result("read", { path: `${directory}/deep` })).toMatchObject({
      is_directory: true,
      entries: ["er/"],
    });
    expect(await error("write", { path: `${directory}/bad`, content: "%%%", encoding: "base64" })).toMatch(
      /base64/,
    );
    expect(await error("read", { path: `${directory}/bad` })).toMatch(/does not exist/);
  });

  it("reads binary files by bytes and refuses them as text", async () => {
    proves("TOOL-04");
    await shell("python3 -c \"open('a.bin','wb').write(bytes(range(256))*10)\"");
    const piece = await result("read", {
      path: `${directory}/a.bin`,
      encoding: "base64",
      byte_offset: 250,
      max_bytes: 8,
    });
    expect(piece).toMatchObject({ length: 8, has_more: true, next_byte_offset: 258, size_bytes: 2560 });
    expect(piece["content"]).toBe(Buffer.from([250, 251, 252, 253, 254, 255, 0, 1]).toString("base64"));
    expect(await error("read", { path: `${directory}/a.bin` })).toMatch(/binary data, 2560 bytes/);
  });

  it("finds files by name and lines by pattern", async () => {
    proves("TOOL-08");
    await shell(
      "mkdir -p src .git; echo 'needle 1' > src/a.py; echo needle > .git/x; printf 'n\\0' > b.bin; sleep 0.05; echo 'needle 2' > b.txt",
    );
    const found = await result("glob", { pattern: "**/*.{py,txt}", path: directory });
    expect(found["matches"]).toEqual([`${directory}/b.txt`, `${directory}/src/a.py`]);
    const lines = await result("grep", { pattern: "needle \\d", path: directory });
    expect(lines["matches"]).toEqual([
      { file: `${directory}/b.txt`, line: 1, content: "needle 2" },
      { file: `${directory}/src/a.py`, line: 1, content: "needle 1" },
    ]);
    expect(await error("glob", { pattern: "*", path: `${directory}/b.txt` })).toMatch(/is not a directory/);
    expect(await error("grep", { pattern: "(unclosed", path: directory })).toMatch(/^Invalid pattern: /);
    await shell("rm -r *; { printf 'needle '; head -c 5000 /dev/zero | tr '\\0' x; } > long.txt");
    expect(await result("grep", { pattern: "needle", path: directory })).toMatchObject({
      matches: [{ line: 1, content: `needle ${"x".repeat(493)} [... line cut]` }],
      truncated_by: "line",
    });
  });

  it("gives 100 of 105 matches, and cuts a walk above its limit", async () => {
    proves("TOOL-07");
    await shell(
      "for i in $(seq 105); do : > f$i.log; done; mkdir big; cd big; python3 -c \"[open(f'{i}','w').close() for i in range(100100)]\"",
    );
    expect(await result("glob", { pattern: "*.log", path: directory })).toMatchObject({
      truncated_by: "scan",
    });
    await shell("rm -r big");
    const found = await result("glob", { pattern: "*.log", path: directory });
    expect(found).toMatchObject({ total: 105, truncated_by: "matches" });
    expect(found["matches"]).toHaveLength(100);
  });

  it("skips a file on which the pattern runs away", async () => {
    await shell("python3 -c \"open('b.txt','w').write('a'*60+'!')\"; echo aaa > c.txt");
    expect(await result("grep", { pattern: "^(a+)+$", path: directory })).toMatchObject({
      matches: [{ file: `${directory}/c.txt` }],
      truncated_by: "time",
    });
  });

  it("says that a path escapes, for every tool and through every kind of link", async () => {
    await shell("ln -s /etc linked; ln -s /etc/passwd passwd; mkdir real; echo x > real/a");
    for (const path of [
      "/etc/passwd",
      `${directory}/linked/passwd`,
      `${directory}/passwd`,
      "../etc/passwd",
    ]) {
      expect(await error("read", { path })).toMatch(/escapes/);
      expect(await error("write", { path, content: "x" })).toMatch(/escapes/);
      expect(await error("edit", { path, old_string: "root", new_string: "x" })).toMatch(/escapes/);
    }
    expect(await error("glob", { pattern: "*", path: `${directory}/linked` })).toMatch(/escapes/);
    expect(await error("grep", { pattern: "root", path: `${directory}/linked` })).toMatch(/escapes/);
    expect(await error("exec", { command: "id", workdir: "/etc" })).toMatch(/escapes/);
  });

  it("leaks nothing and writes nothing outside while a directory is swapped for a link again and again", async () => {
    proves("TOOL-06");
    await shell("mkdir d; echo mine > d/a; echo foreign > /tmp/a");
    await shell("(while [ ! -e stop ]; do mv d away; ln -s /tmp d; rm d; mv away d; done) >/dev/null 2>&1 &");
    const seen = new Set<string>();
    for (let i = 0; i < 12; i += 1) {
      const path = `${directory}/d/a`;
      const answers = await Promise.all([
        call("read", { path }),
        call("edit", { path, old_string: "foreign", new_string: "changed" }),
        call("grep", { pattern: "foreign", path: `${directory}/d` }),
        call("write", { path: `${directory}/d/w${i}`, content: "x" }),
      ]);
      for (const answer of answers) seen.add(JSON.stringify(answer));
    }
    await shell("touch stop");
    expect([...seen].filter((answer) => answer.includes('"content":"foreign"'))).toEqual([]);
    expect((await shell("sleep 0.2; cat /tmp/a; ls /tmp"))["stdout"]).toMatch(/^foreign\na\n(?!w)/);
    expect(await error("read", { path: "../etc/passwd" })).toMatch(/escapes/);
    await shell("rm -rf d away; ln -s /tmp d");
    expect(await error("read", { path: `${directory}/d/a` })).toMatch(/escapes/);
  });

  it("exports exactly the files named and says that their sources are gone", async () => {
    await shell("echo one > $BERTH_OUTBOX/one.txt; echo two > $BERTH_OUTBOX/two.txt");
    const exported = await result("export_box_files", { paths: [`${box.outbox}/one.txt`] });
    expect(exported).toMatchObject({
      files: [{ name: "one.txt", size: 4, source_removed: true }],
      warnings: [],
    });
    expect((await shell("ls $BERTH_OUTBOX"))["stdout"]).toBe("two.txt\n");
    expect(await error("export_box_files", { paths: ["two.txt"] })).toContain(`${box.outbox}/two.txt`);
  });
});
