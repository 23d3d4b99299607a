/** Commands that do not want to end, boxes that end too early, and what is left of either. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeExecBody } from "../../src/adapters/docker/exec-request.js";
import { encodeFrame, TO_WORKER } from "../../src/adapters/docker/frame-codec.js";
import { WorkerScripts } from "../../src/adapters/docker/worker-script.js";
import { BOX_HOME, type ExecExit } from "../../src/domain/box.js";
import type { BoxPlace } from "../../src/ports/box-backend.js";
import type { BoxHandle } from "../../src/ports/box-handle.js";
import { aCommand, run } from "../contracts/box-backend.js";
import { FOREVER, hasEngine, type ServedBy, TestEngine } from "../support/engine.js";
import { proves } from "../support/proves.js";
import { BOMBS, VICTIMS } from "../support/victims.js";

const SLEEP = "sleep 1000";
/** Kills whatever else the box user starts, the sweep of the service included. */
const TYRANT = `exec python3 -c 'import os
while True:
    try: os.kill(-1, 9)
    except OSError: pass'`;
/** Stop whatever else the box user runs: helper, supervisor, the sweep of the service. */
const STOPPERS: Readonly<Record<string, string>> = {
  once: "exec python3 -c 'import os, time; os.kill(-1, 19); time.sleep(1000)'",
  "again and again": "exec python3 -c 'import os\nwhile True: os.kill(-1, 19)'",
};
/** No exec of the engine comes to its end any more, and the engine says nothing about the box while one is on its way. */
const TRAP = `exec python3 -c 'import os
os.kill(-1, 9)
while True:
    try: os.kill(-1, 19)
    except OSError: pass'`;
/** Both streams in pieces of many sizes, each after what looks like a header of the engine. */
const INTERLEAVED = `import os
for i in range(40):
    size = i * 7919 % 200000
    for descriptor, letter in ((1, b"o"), (2, b"e")):
        data = bytes([1, 0, 0, 0, 0, 0, 0, 5]) + letter * size
        while data: data = data[os.write(descriptor, data):]`;
const SERVED_BY: readonly ServedBy[] = ["helper", "engine"];

describe.skipIf(!hasEngine()).each(SERVED_BY)(
  "commands in a box of a Docker engine, served by the %s",
  (servedBy) => {
    let engine: TestEngine;
    let place: BoxPlace;
    let box: BoxHandle;

    beforeAll(async () => {
      engine = new TestEngine(servedBy);
      ({ place, box } = await engine.startBox());
    });
    afterAll(async () => {
      await box[Symbol.asyncDispose]();
      await engine[Symbol.asyncDispose]();
    });

    const shell = async (text: string, timeoutMs = 20_000) => run(box, ["sh", "-lc", text], { timeoutMs });

    /** What runs besides the one helper, zombies included. A worker that has said its last word may take a moment to go. */
    async function remains(of: BoxPlace): Promise<readonly string[]> {
      for (let i = 0; ; i += 1) {
        const left = (await engine.processes(of.container)).filter(
          (line) => !/docker-init|sleep infinity|boxd hold/.test(line),
        );
        const helper = left.findIndex((line) => /^S.* \/opt\/berth\/boxd serve/.test(line));
        if (helper !== -1) left.splice(helper, 1);
        if (left.length === 0 || i === 10) return left.map((line) => line.slice(0, 80));
        await delay(50);
      }
    }

    it("tells exit code and output of a command", async () => {
      proves("BOX-01", "ISO-04");
      expect(await shell("echo hello")).toMatchObject({
        stdout: "hello\n",
        stderr: "",
        exit: { status: "completed", exitCode: 0, leftovers: 0, notes: [] },
      });
      expect((await run(box, ["true"])).exit).toMatchObject({ status: "completed", exitCode: 0 });
      expect((await run(box, ["false"])).exit).toMatchObject({ status: "completed", exitCode: 1 });
    });

    it.each(Object.entries(VICTIMS))(
      "leaves nothing of a command that runs out of time: %s",
      async (what, text) => {
        if (what === "TERM ignored" || what === "a session of its own") proves("ISO-02");
        const started = performance.now();
        const { exit } = await shell(text, 500);
        expect(exit).toMatchObject({ status: "timed_out", exitCode: null, leftovers: 0 });
        expect(performance.now() - started).toBeLessThan(500 + 3500);
        expect(await remains(place)).toEqual([]);
      },
    );

    it.each(Object.entries(VICTIMS))(
      "leaves nothing of a command that is cancelled: %s",
      async (_what, text) => {
        const cancel = new AbortController();
        const timer = setTimeout(() => cancel.abort(), 500);
        const exits: ExecExit[] = [];
        for await (const event of box.exec(aCommand(["sh", "-lc", text]), { signal: cancel.signal }))
          if (event.type === "exit") exits.push(event.exit);
        clearTimeout(timer);
        expect(exits).toMatchObject([{ status: "cancelled", exitCode: null }]);
        expect(await remains(place)).toEqual([]);
      },
    );

    it.each(Object.entries(BOMBS))("comes back from a fork bomb %s", async (_what, text) => {
      const { exit } = await shell(text, 2000);
      expect(exit.status).toBe("timed_out");
      expect(exit.notes.join(" ")).toContain("The limit of 128 processes was reached");
      expect((await shell("echo back")).stdout).toBe("back\n");
      expect(await remains(place)).toEqual([]);
    });

    it.runIf(servedBy === "helper")("makes room in a box that earlier commands have filled", async () => {
      await using lease = await engine.backend.open(place, FOREVER);
      await run(lease, ["sh", "-c", "for i in $(seq 200); do sleep 1000 & done; exit 0"]);
      expect((await remains(place)).length).toBeGreaterThan(100);
      const { stdout, exit } = await run(lease, ["echo", "room"]);
      expect([stdout, exit.status]).toEqual(["room\n", "completed"]);
      expect(exit.notes.join(" ")).toContain("The box was full of processes (limit 128)");
      expect(await remains(place)).toEqual([]);
    });

    it("leaves nothing of a command whose reader went away", async () => {
      for await (const event of box.exec(
        aCommand(["sh", "-lc", `echo begun; setsid ${SLEEP} & ${SLEEP}`]),
        FOREVER,
      ))
        if (event.type === "output") break;
      expect(await remains(place)).toEqual([]);
    });

    it("leaves nothing of fifty commands that time out, are cancelled or outlive their run", async () => {
      proves("ISO-01");
      for (let i = 0; i < 17; i += 1) {
        expect((await shell("sleep 600", 100)).exit.status).toBe("timed_out");
        expect(await cancelled(box, ["sleep", "600"], 100)).toMatchObject([{ status: "cancelled" }]);
        await using lease = await engine.backend.open(place, FOREVER);
        await run(lease, ["sh", "-lc", "sleep 600 & exit 0"]);
      }
      expect(await remains(place)).toEqual([]);
    }, 120_000);

    it("answers at once when something is left, keeps that until the lease ends, and no longer", async () => {
      proves("ISO-05");
      await using lease = await engine.backend.open(place, FOREVER);
      const started = performance.now();
      const text = "sleep 1001 & (setsid sleep 1002 &); exit 3";
      const { exit } = await run(lease, ["sh", "-lc", text], { timeoutMs: 2000 });
      expect(performance.now() - started).toBeLessThan(1000);
      expect(exit).toMatchObject({ status: "completed", exitCode: 3, leftovers: 2 });
      expect((await remains(place)).filter((line) => /sleep 100[12]/.test(line))).toHaveLength(2);
      await lease[Symbol.asyncDispose]();
      expect(await remains(place)).toEqual([]);
    });

    it.each([
      ["python3 -m http.server 8000 &", 0, 1],
      ["read x", 1, 0],
      ["cat", 0, 0],
    ])("waits neither for a server nor for an input: %s", async (text, exitCode, leftovers) => {
      proves("ISO-03");
      await using lease = await engine.backend.open(place, FOREVER);
      const started = performance.now();
      const { exit } = await run(lease, ["sh", "-lc", text]);
      expect(performance.now() - started).toBeLessThan(1000);
      expect(exit).toMatchObject({ status: "completed", exitCode, leftovers });
      expect(exit.notes.join(" ")).toMatch(leftovers > 0 ? /1 process .* still runs/ : /^$/);
    });

    it("lets the commands of a run use the server that one of them started", async () => {
      await using lease = await engine.backend.open(place, FOREVER);
      await run(lease, ["sh", "-lc", "python3 -m http.server 8001 >/dev/null 2>&1 & sleep 1"]);
      expect((await run(lease, ["curl", "-sI", "http://127.0.0.1:8001/"])).stdout).toContain("200 OK");
    });

    it("reaps a thousand orphans and does not meet its process limit", async () => {
      proves("ISO-10");
      const { exit } = await shell("for i in $(seq 1000); do sh -c 'sleep 0.01 &'; done; sleep 0.2", 60_000);
      expect(exit).toMatchObject({ status: "completed", exitCode: 0, notes: [] });
      expect(await remains(place)).toEqual([]);
    }, 90_000);

    it("waits for a command that says nothing", async () => {
      proves("ISO-12");
      expect((await shell("sleep 9; echo done", 12_000)).stdout).toBe("done\n");
    });

    it("separates interleaved output byte for byte, in pieces of any size", async () => {
      proves("BOX-30");
      const { stdout, stderr } = await run(box, ["python3", "-c", INTERLEAVED]);
      expect(stdout === interleaved("o")).toBe(true);
      expect(stderr === interleaved("e")).toBe(true);
    });

    it("returns from every one of many short commands, eight at once", async () => {
      const codes: unknown[] = [];
      const series = async (first: number): Promise<void> => {
        for (let i = first; i < 64; i += 8) {
          const { exit, stdout } = await run(box, ["echo", String(i)]);
          codes.push([stdout === `${i}\n`, exit.exitCode]);
        }
      };
      await Promise.all(Array.from({ length: 8 }, async (_none, first) => series(first)));
      expect(codes).toEqual(Array.from({ length: 64 }, () => [true, 0]));
    });

    it.each([
      ["is killed", `setsid ${SLEEP} & kill -9 $PPID; ${SLEEP}`],
      ["is killed with everything else", `setsid ${SLEEP} & kill -9 -1; ${SLEEP}`],
    ])("clears the box when the supervisor of a command %s", async (_what, text) => {
      const { exit } = await shell(text);
      expect(exit).toMatchObject({ status: "killed", exitCode: null });
      expect(exit.notes.join(" ")).toMatch(/supervisor .* stopped/);
      expect(await remains(place)).toEqual([]);
    });

    it("starts the box anew when nothing else clears it, and keeps the files", async () => {
      await shell("echo kept > /workspace/kept");
      const { exit } = await shell(TYRANT);
      expect(exit).toMatchObject({ status: "killed", exitCode: null });
      expect(exit.notes.join(" ")).toContain("had to be started anew");
      expect((await shell("cat /workspace/kept")).stdout).toBe("kept\n");
      expect(await remains(place)).toEqual([]);
    });

    it.each(Object.entries(STOPPERS))(
      "leaves nothing of a command that stops the helper beside it: %s",
      async (_what, text) => {
        await shell("echo kept > /workspace/kept");
        const started = performance.now();
        const { exit } = await shell(text, 500);
        expect(exit).toMatchObject({ status: "timed_out", exitCode: null });
        expect(performance.now() - started).toBeLessThan(500 + 3500);
        expect((await shell("cat /workspace/kept")).stdout).toBe("kept\n");
        expect(await remains(place)).toEqual([]);
      },
    );

    it("starts a box anew that ends its helper and stops whatever enters", async () => {
      await shell("echo kept > /workspace/kept");
      const { exit } = await shell(TRAP);
      expect(exit).toMatchObject({ status: "killed", exitCode: null });
      expect(exit.notes.join(" ")).toContain("had to be started anew");
      expect((await shell("cat /workspace/kept")).stdout).toBe("kept\n");
      expect(await remains(place)).toEqual([]);
    });

    it("names the memory limit, and the box goes on", async () => {
      proves("ISO-11");
      const hog = await shell("exec python3 -c 'b = bytearray(10 << 30)'");
      expect(hog.exit).toMatchObject({ status: "killed" });
      expect(hog.exit.notes.join(" ")).toContain(
        "The memory limit of 256 MiB was reached: 1 process was killed.",
      );
      const many = await shell("for i in $(seq 40); do python3 -c 'b = bytearray(50 << 20)' & done; wait");
      expect(many.exit.notes.join(" ")).toContain("The memory limit of 256 MiB");
      expect((await shell("echo well")).stdout).toBe("well\n");
      expect(await remains(place)).toEqual([]);
    });

    it("stops what fills the workspace, near the quota, and keeps the files", async () => {
      proves("ISO-18");
      const { box: small } = await engine.startBox({ workspaceQuotaMb: 100 });
      const inside = async (text: string) => run(small, ["sh", "-c", text], { timeoutMs: 30_000 });
      const usedKib = async () => Number((await inside("du -sk /workspace | cut -f1")).stdout);
      expect((await inside("fallocate -l 50G /workspace/one")).exit.exitCode).not.toBe(0);
      expect(await usedKib()).toBeLessThanOrEqual(101 * 1024);
      const dd =
        "i=0; while :; do i=$((i + 1)); dd if=/dev/zero of=/workspace/f$i bs=1M count=20 2>/dev/null; done";
      const { exit } = await inside(`rm -f /workspace/one; ${dd}`);
      expect(exit).toMatchObject({ status: "killed", exitCode: null });
      expect(exit.notes.join(" ")).toMatch(/The workspace quota of 100 MiB was reached: \d+ MiB are in use/);
      const afterLoop = await usedKib();
      expect(afterLoop).toBeGreaterThan(100 * 1024);
      expect(afterLoop).toBeLessThan(700 * 1024);
      expect((await inside("head -c 1000000 /dev/zero > /workspace/more; sleep 3")).exit.status).toBe(
        "killed",
      );
      expect((await inside("sleep 1; rm /workspace/f*; sleep 1; echo clean")).stdout).toBe("clean\n");
      await run(small, ["sh", "-c", `(${dd}) & exit 0`]);
      await delay(4000);
      expect(await remains(place)).toEqual([]);
      expect(await usedKib()).toBeLessThan(700 * 1024);
      await small[Symbol.asyncDispose]();
    });

    it("goes on when the box closes its own workspace", async () => {
      const { box: closed } = await engine.startBox();
      const text = "chmod 000 /workspace; sleep 3; echo well; chmod 700 /workspace";
      expect((await run(closed, ["sh", "-c", text])).stdout).toBe("well\n");
      for (const workdir of ["/workspace", BOX_HOME]) {
        await run(closed, ["chmod", "000", BOX_HOME, "/workspace"]);
        expect((await run(closed, ["pwd"], { workdir })).stdout).toBe(`${workdir}\n`);
      }
      await run(closed, ["sh", "-c", "mkdir /workspace/shut; chmod 000 /workspace/shut"]);
      await expect(run(closed, ["true"], { workdir: "/workspace/shut/below" })).rejects.toMatchObject({
        code: "box.validation",
      });
      await closed[Symbol.asyncDispose]();
    });

    it("goes on when /tmp is full", async () => {
      await shell("head -c 100000000 /dev/zero > /tmp/fill");
      expect((await shell("rm /tmp/fill; echo well")).stdout).toBe("well\n");
    });

    it("runs many commands at once, each with its own output", async () => {
      const results = await Promise.all(
        Array.from({ length: 8 }, async (_none, i) => shell(`sleep 0.${i % 3}; echo ${i}; exit ${i}`)),
      );
      expect(results.map(({ stdout, exit }) => [stdout, exit.exitCode])).toEqual(
        results.map((_result, i) => [`${i}\n`, i]),
      );
    });

    it("keeps what comes after the shell has ended, as from a process substitution", async () => {
      const { stdout } = await run(box, ["bash", "-c", "echo one > >(sleep 0.05; cat)"]);
      expect(stdout).toBe("one\n");
    });

    it("keeps 300 MB of output from filling the service, however slow the reader", async () => {
      const before = process.memoryUsage().rss;
      let [sizeBytes, peak, pieces] = [0, 0, 0];
      const request = aCommand(["head", "-c", "300000000", "/dev/zero"], { timeoutMs: 60_000 });
      for await (const event of box.exec(request, FOREVER)) {
        if (event.type === "output") sizeBytes += event.bytes.length;
        pieces += 1;
        if (pieces === 10) await delay(1000);
        if (pieces % 500 === 0) peak = Math.max(peak, process.memoryUsage().rss);
      }
      expect(sizeBytes).toBe(300_000_000);
      expect(peak - before).toBeLessThan(100_000_000);
    });

    it("ends everything when the service goes away without a word", async () => {
      const scripts = new WorkerScripts();
      const exec = await engine.docker.getContainer(place.container).exec({
        Cmd: ["python3", "-I", "-S", "-c", await scripts.source("commands")],
        User: `${place.uid}:${place.uid}`,
        AttachStdin: true,
        AttachStdout: true,
        AttachStderr: true,
      });
      const stream = await exec.start({ hijack: true, stdin: true });
      const request = makeExecBody(aCommand(["sh", "-c", "setsid sleep 1003 & sleep 1003"]), { quotaMib: 0 });
      stream.write(encodeFrame(TO_WORKER.request, 0, Buffer.from(JSON.stringify(request))));
      while (!(await engine.processes(place.container)).some((line) => line.includes("sleep 1003")))
        await delay(50);
      stream.destroy();
      await delay(500);
      expect(await remains(place)).toEqual([]);
    });

    it.each(["kill", "remove", "restart", "stop"] as const)(
      "says that the box ended when somebody does that to its container: %s",
      async (verb) => {
        const { place: victim, box: dying } = await engine.startBox();
        const running = run(dying, ["sh", "-lc", SLEEP]);
        await delay(500);
        const container = engine.docker.getContainer(victim.container);
        if (verb === "remove") await container.remove({ force: true });
        else await container[verb]({ t: 0 });
        const { exit } = await running;
        expect(exit).toMatchObject({ status: "killed", exitCode: null });
        expect(exit.notes.join(" ")).toContain("The box stopped while the command ran");
        await dying[Symbol.asyncDispose]();
      },
    );

    it("says that the box does not run", async () => {
      const { place: victim, box: dead } = await engine.startBox();
      await engine.backend.stop(victim.container, FOREVER);
      await expect(run(dead, ["true"])).rejects.toMatchObject({ code: "box.readiness" });
      await expect(dead.files.stat(["/workspace"], FOREVER)).rejects.toMatchObject({ code: "box.readiness" });
      await engine.backend.removeContainer(victim.container, FOREVER);
      await expect(run(dead, ["true"])).rejects.toMatchObject({ code: "box.readiness" });
      await dead[Symbol.asyncDispose]();
    });
  },
);

/** What INTERLEAVED writes with this letter. */
function interleaved(letter: string): string {
  const header = Buffer.from([1, 0, 0, 0, 0, 0, 0, 5]).toString("latin1");
  return Array.from({ length: 40 }, (_none, i) => header + letter.repeat((i * 7919) % 200_000)).join("");
}

async function cancelled(
  box: BoxHandle,
  argv: readonly string[],
  afterMs: number,
): Promise<readonly ExecExit[]> {
  const cancel = new AbortController();
  const timer = setTimeout(() => cancel.abort(), afterMs);
  const exits: ExecExit[] = [];
  for await (const event of box.exec(aCommand(argv), { signal: cancel.signal }))
    if (event.type === "exit") exits.push(event.exit);
  clearTimeout(timer);
  return exits;
}
