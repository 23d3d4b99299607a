import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CommandRun } from "../../../../src/adapters/docker/command-run.js";
import { TO_WORKER } from "../../../../src/adapters/docker/frame-codec.js";
import { frame, ScriptedLink } from "./scripted-link.js";

const COUNTERS = { oom_kills: 0, pids_refused: 0 };
const EXIT = { code: 0, signal: null, by: "exit", leftovers: 0, disk: null, oom_kills: 0, pids_refused: 0 };

const notStopped = async (): Promise<boolean> => Promise.resolve(false);

async function readAll(run: CommandRun): Promise<string> {
  let text = "";
  for (let piece = await run.output.next(); piece !== null; piece = await run.output.next())
    text += `${piece.stream === "stderr" ? "!" : ""}${Buffer.from(piece.bytes).toString("utf8")}`;
  return text;
}

describe("CommandRun", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("follows a command from its start to the end of its worker", async () => {
    const link = new ScriptedLink([
      frame("started", 0, COUNTERS),
      frame("stdout", 0, Buffer.from("out")),
      frame("stderr", 0, Buffer.from("err")),
      frame("exit", 0, EXIT),
      frame("done"),
    ]);
    const run = new CommandRun(link, notStopped);
    const followed = run.follow();
    expect(await readAll(run)).toBe("out!err");
    expect(await run.ending).toEqual({
      type: "exit",
      exit: { code: 0, signal: null, by: "exit", leftovers: 0, disk: null, oomKills: 0, pidsRefused: 0 },
    });
    expect(await followed).toBe(true);
    expect(run.countersAtStart).toEqual({ oomKills: 0, pidsRefused: 0 });
    expect(link.isDisposed).toBe(true);
    expect(run.stopReason).toBeNull();
  });

  it("tells the exit at once, and follows on while something is left behind", async () => {
    const link = new ScriptedLink([frame("exit", 0, { ...EXIT, leftovers: 1 })], true);
    link.onSend = ({ type }) => (type === TO_WORKER.kill ? [frame("done")] : []);
    const run = new CommandRun(link, notStopped);
    const followed = run.follow();
    expect(await run.ending).toMatchObject({ type: "exit", exit: { leftovers: 1 } });
    expect(link.isDisposed).toBe(false);
    run.stop("abandoned");
    expect(await followed).toBe(true);
    expect(run.stopReason).toBeNull();
  });

  it("asks once to stop, keeps the first reason and waits for the exit", async () => {
    const link = new ScriptedLink([frame("stdout", 0, Buffer.from("early"))], true);
    link.onSend = () => [frame("exit", 0, { ...EXIT, code: null, signal: 9, by: "kill" }), frame("done")];
    const run = new CommandRun(link, notStopped);
    const followed = run.follow();
    run.stop("timed_out");
    run.stop("cancelled");
    expect(await readAll(run)).toBe("early");
    expect(await run.ending).toMatchObject({ type: "exit", exit: { by: "kill" } });
    expect(run.stopReason).toBe("timed_out");
    expect(link.count("kill")).toBe(1);
    expect(await followed).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("lets go of a worker that does not stop in time", async () => {
    const link = new ScriptedLink([], true);
    const run = new CommandRun(link, notStopped);
    const followed = run.follow();
    run.stop("cancelled");
    await vi.advanceTimersByTimeAsync(1499);
    expect(link.isDisposed).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await run.ending).toMatchObject({ type: "lost" });
    expect(await followed).toBe(false);
  });

  it("ends the stream of a worker that the box has stopped as soon as that is seen", async () => {
    const link = new ScriptedLink([frame("started", 0, COUNTERS)], true);
    const run = new CommandRun(link, async () => Promise.resolve(true));
    const followed = run.follow();
    run.stop("timed_out");
    await vi.advanceTimersByTimeAsync(399);
    expect(link.isDisposed).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await run.ending).toMatchObject({ type: "lost" });
    expect(await followed).toBe(false);
  });

  it("finds out the end of a stopped command that nobody reads, however much it says", async () => {
    const flood = Array.from({ length: 100 }, () => frame("stdout", 0, new Uint8Array(64 * 1024)));
    const link = new ScriptedLink([...flood, frame("exit", 0, EXIT), frame("done")]);
    const run = new CommandRun(link, notStopped);
    const followed = run.follow();
    run.stop("abandoned");
    expect(await run.ending).toMatchObject({ type: "exit" });
    expect(await followed).toBe(true);
  });

  it.each([
    ["the stream ends without an exit", [null]],
    ["the stream breaks", [new Error("ECONNRESET")]],
    ["the exit is impossible", [frame("exit", 0, { code: "zero" })]],
    ["a frame comes that no command has", [frame("entries", 0, [])]],
  ])("counts a command as lost when %s", async (_what, frames) => {
    const run = new CommandRun(new ScriptedLink(frames), notStopped);
    expect(await run.follow()).toBe(false);
    expect(await run.ending).toMatchObject({ type: "lost" });
    expect(await readAll(run)).toBe("");
  });

  it("tells that the command could not be placed", async () => {
    const run = new CommandRun(
      new ScriptedLink([frame("fault", 0, "symlink_component"), frame("done")]),
      notStopped,
    );
    expect(await run.follow()).toBe(true);
    expect(await run.ending).toEqual({ type: "fault", fault: "symlink_component" });
  });

  it("is unclean when the worker goes away after the exit without saying that nothing is left", async () => {
    const run = new CommandRun(
      new ScriptedLink([frame("exit", 0, { ...EXIT, leftovers: 2 }), null]),
      notStopped,
    );
    expect(await run.follow()).toBe(false);
    expect(await run.ending).toMatchObject({ type: "exit" });
  });
});
