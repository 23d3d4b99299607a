/** What an attacker in a default box tries against its holder, its helper, its limits and its next commands (security §1, §4). */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { BoxPlace } from "../../src/ports/box-backend.js";
import type { BoxHandle, ExecRequest } from "../../src/ports/box-handle.js";
import { run } from "../contracts/box-backend.js";
import { FOREVER, hasEngine, TestEngine } from "../support/engine.js";

/** Prints one line for each attempt: what the kernel said, or that it was let. */
const ATTEMPTS = `
import ctypes, errno, os, signal, socket
libc = ctypes.CDLL(None, use_errno=True)
def said(name, act):
    try:
        act()
        print(name, "allowed")
    except OSError as error:
        print(name, errno.errorcode.get(error.errno, error.errno))
    except ValueError:
        print(name, "EPERM")
def call(number, *args):
    ctypes.set_errno(0)
    if libc.syscall(number, *args) < 0: raise OSError(ctypes.get_errno(), "")
def write(path):
    with open(path, "wb") as file: file.write(b"x")
helpers = [int(name) for name in os.listdir("/proc") if name.isdigit() and b"boxd" in open("/proc/%s/cmdline" % name, "rb").read().split(b"\\0")[0] and int(name) != 1]
for fd in (0, 1, 2): said("write to descriptor %d of the first process" % fd, lambda: write("/proc/1/fd/%d" % fd))
said("signal the first process", lambda: os.kill(1, signal.SIGKILL))
said("memory of the first process", lambda: open("/proc/1/mem", "r+b"))
said("environment of the first process", lambda: open("/proc/1/environ", "rb").read())
said("write to the helper's directory", lambda: write("/opt/berth/new"))
said("replace the helper", lambda: write("/opt/berth/boxd"))
said("remove the helper", lambda: os.unlink("/opt/berth/boxd"))
said("mount over the workspace", lambda: call(165, b"none", b"/workspace", b"tmpfs", 0, 0))
said("mount below the workspace", lambda: (os.makedirs("/workspace/m", exist_ok=True), call(165, b"/etc", b"/workspace/m", 0, 4096, 0)))
said("change the root", lambda: os.chroot("/tmp"))
said("become root", lambda: os.setuid(0))
said("new user namespace", lambda: call(272, 0x10000000))
said("enter the first process's namespaces", lambda: call(308, os.open("/proc/self/ns/mnt", os.O_RDONLY), 0))
said("set the clock", lambda: call(227, 0, (ctypes.c_long * 2)(1, 0)))
said("set the name of the host", lambda: call(170, b"x", 1))
said("make a device", lambda: os.mknod("/workspace/device", 0o020666, os.makedev(1, 5)))
said("write to a setting of the kernel", lambda: write("/proc/sys/kernel/core_pattern"))
said("write to the memory killer's choice of the first process", lambda: write("/proc/1/oom_score_adj"))
said("write to its cgroup", lambda: write("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
said("load a module", lambda: call(313, 0, b"", 0))
said("raise the limit of open files", lambda: __import__("resource").setrlimit(7, (1 << 20, 1 << 20)))
for pid in helpers:
    said("trace the helper", lambda: call(101, 16, pid, 0, 0))
    said("read the helper's memory", lambda: open("/proc/%d/mem" % pid, "rb").read(1))
    said("read the helper by another call", lambda: call(310, pid, 0, 0, 0, 0, 0))
    said("the helper's descriptors", lambda: os.listdir("/proc/%d/fd" % pid))
    said("a descriptor of the helper by number", lambda: call(438, os.pidfd_open(pid), 1, 0))
print("helpers", len(helpers) > 0)
`;

/** Writes what looks like frames of the helper wherever its output could be. */
const FAKE_FRAMES = `
import glob, os, struct
frame = struct.pack("<IBI", 5, 0x82, 1) + b"x" * 64
for path in glob.glob("/proc/[0-9]*/fd/*"):
    if "/%d/" % os.getpid() in path: continue
    try:
        fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        os.write(fd, frame * 100)
        os.close(fd)
    except OSError: pass
os.write(1, frame * 50)
os.write(2, frame * 50)
`;

/** Takes what the user of the box has in the kernel, and dies with a core. */
const USED_UP = `
import ctypes, os, resource
libc = ctypes.CDLL(None, use_errno=True)
print("core", resource.getrlimit(resource.RLIMIT_CORE))
count = 0
while libc.inotify_init() >= 0: count += 1
print("watches", count > 0)
if os.fork() == 0: os.abort()
print("died of", os.wait()[1] & 127, "core", os.path.exists("core"))
`;

describe.skipIf(!hasEngine())("an attacker in a box", () => {
  let engine: TestEngine;
  let place: BoxPlace;
  let box: BoxHandle;

  beforeAll(async () => {
    engine = new TestEngine();
    ({ place, box } = await engine.startBox());
  });
  afterAll(async () => {
    await box[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
  });

  const shell = async (text: string, of = box): Promise<string> =>
    (await run(of, ["sh", "-lc", text])).stdout;

  it("can touch neither the first process nor the helper, and no part of the kernel", async () => {
    const { stdout } = await run(box, ["python3", "-c", ATTEMPTS]);
    const lines = stdout.trim().split("\n");
    expect(lines.filter((line) => line.endsWith(" allowed"))).toEqual([]);
    expect(lines.length).toBeGreaterThan(20);
    expect(lines.at(-1)).toBe("helpers True");
  });

  it("cannot speak for the helper", async () => {
    await run(box, ["python3", "-c", FAKE_FRAMES]);
    expect(await shell("echo $((6 * 7))")).toBe("42\n");
    expect(await box.files.stat(["/workspace"], FOREVER)).toMatchObject([{ entry: { kind: "directory" } }]);
  });

  it("reaches only its own later commands through files that shells and loaders read", async () => {
    const { box: other } = await engine.startBox();
    await using _other = other;
    await shell(
      "mkdir -p /workspace/.home; for name in .profile .bashrc .bash_profile .bash_login; do echo 'echo fooled' > /workspace/.home/$name; done; " +
        "echo 'import sys; print(\"fooled\")' > /workspace/.home/usercustomize.py; cp /bin/true /workspace/sh; cp /bin/true /workspace/lib.so",
    );
    expect(await shell("echo own")).toContain("own\n");
    expect(await shell("echo own", other)).toBe("own\n");
    const preloaded = await run(box, ["sh", "-c", "echo own"], {
      env: {
        LD_PRELOAD: "/workspace/lib.so",
        PATH: "/workspace:/usr/bin:/bin",
        BASH_ENV: "/workspace/.home/.profile",
      },
    });
    expect(preloaded.exit).toMatchObject({ status: "completed", exitCode: 0 });
    expect(await box.files.stat(["/workspace/sh"], FOREVER)).toMatchObject([{ entry: { kind: "file" } }]);
    expect(await run(box, ["rm", "-rf", "/workspace/.home/.profile", "/workspace/sh"])).toMatchObject({
      stdout: "",
    });
  });

  it("leaves no core, and takes nothing from another box that belongs to a user", async () => {
    const { box: other } = await engine.startBox();
    await using _other = other;
    const used = run(box, ["sh", "-c", `python3 -c '${USED_UP}'; sleep 1`]);
    const inotify = "import ctypes; print(ctypes.CDLL(None).inotify_init() >= 0)";
    expect((await run(other, ["python3", "-c", inotify])).stdout).toBe("True\n");
    expect((await used).stdout).toBe("core (0, 0)\nwatches True\ndied of 6 core False\n");
  });

  it("gets large and odd arguments and variables as they are, or a refusal", async () => {
    const argument = "x".repeat(131_000);
    expect(await outcomeOf(box, { argv: ["printf", "%s", argument] })).toEqual([131_000, 0]);
    expect(await outcomeOf(box, { argv: ["printf", "%s", "x".repeat(140_000)] })).toMatch(
      /140000 bytes.*131071/,
    );
    const many = Array.from({ length: 30 }, () => argument);
    expect(await outcomeOf(box, { argv: ["printf", "%s", ...many] })).toMatch(/3930\d+ bytes together/);
    for (const argv of [["printf", "a\0b"], ["pri\0ntf"]])
      expect(await outcomeOf(box, { argv })).toMatch(/NUL/i);
    for (const env of [{ "A=B": "1" }, { "": "1" }, { A: "1\0" }, { "A\0": "1" }])
      expect(await outcomeOf(box, { argv: ["env"], env })).toMatch(/variable|environment|NUL/i);
    expect(await shell("echo still here")).toBe("still here\n");
  });

  it("kills everything it may, the helper with it, and the next command finds a box as before", async () => {
    for (const round of [1, 2, 3]) {
      await using handle = await engine.backend.open(place, FOREVER);
      await shell(`echo ${round} > /workspace/round; kill -9 -1`, handle).catch(String);
      await using again = await engine.backend.open(place, FOREVER);
      expect(await shell("cat /workspace/round", again)).toBe(`${round}\n`);
    }
    const processes = await engine.processes(place.container);
    expect(processes.filter((line) => line.startsWith("Z"))).toEqual([]);
  });
});

/** How much it printed and its code, or why it was refused. */
async function outcomeOf(
  box: BoxHandle,
  request: Partial<ExecRequest> & Pick<ExecRequest, "argv">,
): Promise<unknown> {
  return run(box, request.argv, request).then(
    ({ stdout, exit }) => [stdout.length, exit.exitCode],
    (error: unknown) => (error instanceof Error ? error.message : "thrown"),
  );
}
