/** Limits of a box: each holds, each is named to who ran into it, and the box goes on. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { BoxPlace } from "../../src/ports/box-backend.js";
import type { BoxHandle } from "../../src/ports/box-handle.js";
import { run } from "../contracts/box-backend.js";
import { ENGINE_SETTINGS, FOREVER, hasEngine, TestEngine } from "../support/engine.js";

/** Starts processes until that fails. */
const FORKS = `import os, time
count = 0
try:
    while True:
        if os.fork() == 0: time.sleep(60); os._exit(0)
        count += 1
except OSError as error: print(count, error.strerror)`;
/** Opens files until that fails, with the limit that a program has at first and with the highest it may take. */
const OPENS = `import os, resource
for limit in (1024, 4096):
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, 4096))
    files = []
    try:
        while True: files.append(os.open("/dev/null", os.O_RDONLY))
    except OSError as error: print(len(files), error.strerror)
    for each in files: os.close(each)
try: resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
except ValueError: print("no more")`;
/** Seconds of the processor that two busy processes got in two seconds. */
const BURNS = `import os, time
until = time.monotonic() + 2
for _ in range(2):
    if os.fork() == 0:
        while time.monotonic() < until: pass
        os._exit(0)
for _ in range(2): os.wait()
used = os.times()
print(used.children_user + used.children_system)`;
const THROTTLED = "cat /sys/fs/cgroup/cpu/cpu.stat /sys/fs/cgroup/cpu.stat 2>/dev/null";

describe.skipIf(!hasEngine())("a limit of a box", () => {
  let engine: TestEngine;
  let place: BoxPlace;
  let box: BoxHandle;
  beforeAll(async () => {
    engine = new TestEngine();
    ({ place, box } = await engine.startBox({
      ...ENGINE_SETTINGS,
      cpus: 0.5,
      pidsLimit: 64,
      workspaceQuotaMb: 100,
    }));
  });
  afterAll(async () => {
    await box[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
  });

  const shell = async (text: string) => run(box, ["sh", "-c", text], { timeoutMs: 10_000 });
  const python = async (text: string) => run(box, ["python3", "-c", text], { timeoutMs: 10_000 });

  it("bounds the number of processes, and says so with its value", async () => {
    await using lease = await engine.backend.open(place, FOREVER);
    const { stdout, exit } = await run(lease, ["python3", "-c", FORKS]);
    const [, count = "", reason] = /^(\d+) (.*)\n/.exec(stdout) ?? [];
    expect(Number(count)).toBeGreaterThan(30);
    expect(Number(count)).toBeLessThan(64);
    expect(reason).toBe("Resource temporarily unavailable");
    expect(exit.notes).toContain("The limit of 64 processes was reached: new ones were refused.");
  });

  it("bounds the memory, and says so with its value", async () => {
    const { exit } = await python("b = bytearray(1 << 30)");
    expect(exit.status).toBe("killed");
    expect(exit.notes).toContain("The memory limit of 256 MiB was reached: 1 process was killed.");
    expect((await shell("echo well")).stdout).toBe("well\n");
  });

  it("bounds the processor", async () => {
    const { stdout } = await python(BURNS);
    expect(Number(stdout)).toBeGreaterThan(0);
    expect(Number(stdout)).toBeLessThan(0.5 * 2 + 0.3);
    expect((await shell(THROTTLED)).stdout).toMatch(/nr_throttled \d+/);
  });

  it("bounds the files that a process has open, also where it asks for more", async () => {
    const lines = (await python(OPENS)).stdout.trim().split("\n");
    expect(lines).toEqual([
      expect.stringMatching(/^10[12]\d Too many open files$/),
      expect.stringMatching(/^409\d Too many open files$/),
      "no more",
    ]);
  });

  it("bounds a file before it is written, and says so with its value", async () => {
    const { exit } = await shell("truncate -s 1T /workspace/sparse");
    expect(exit.exitCode === null || exit.exitCode > 0).toBe(true);
    expect(exit.notes).toContain("The limit of 100 MiB for one file was reached.");
    expect((await shell("stat -c %s /workspace/sparse 2>/dev/null || echo 0")).stdout).toBe("0\n");
  });

  it("bounds /tmp, whose user is told by name; the box and its files can be used as before", async () => {
    const fill = await shell("dd if=/dev/zero of=/tmp/fill bs=1M count=90");
    expect(fill.exit.exitCode).toBe(1);
    expect(fill.stderr).toContain("/tmp/fill': No space left on device");
    expect((await shell("stat -c %s /tmp/fill")).stdout).toBe(`${64 * 1024 * 1024}\n`);
    const kept = { path: "/workspace/kept", mode: "create" as const, sizeBytes: 5, content: once("words") };
    expect(await box.files.write([kept], FOREVER)).toMatchObject([{ ok: true }]);
    expect(
      (await shell("cat /workspace/kept; rm /tmp/fill && echo room > /tmp/r && cat /tmp/r")).stdout,
    ).toBe("wordsroom\n");
  });
});

async function* once(words: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(words);
}
