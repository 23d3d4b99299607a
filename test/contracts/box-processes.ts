/** What a process of a box does that is streamed in both directions (ports/box-handle.ts). */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ExecExit } from "../../src/domain/box.js";
import type { BoxPlace } from "../../src/ports/box-backend.js";
import type { BoxHandle, BoxProcess, ExecEvent, SpawnRequest } from "../../src/ports/box-handle.js";
import type { CallOptions } from "../../src/ports/options.js";
import type { BoxesUnderTest } from "./box-backend.js";

const FOREVER: CallOptions = { signal: new AbortController().signal };
const NONE = "These boxes have no processes.";
const SIZE = { rows: 24, columns: 80 };

export function describeProcesses(make: () => BoxesUnderTest): void {
  describe("processes", () => {
    let boxes: BoxesUnderTest;
    let place: BoxPlace;
    let box: BoxHandle;
    beforeAll(async () => {
      boxes = make();
      place = boxes.newPlace();
      await boxes.backend.prepareWorkspace(place, boxes.settings, FOREVER);
      await boxes.backend.start(place, boxes.settings, FOREVER);
      box = await boxes.backend.open(place, FOREVER);
    });
    afterAll(async () => {
      await box[Symbol.asyncDispose]();
      await boxes[Symbol.asyncDispose]();
    });

    it("are refused where they cannot be streamed", async ({ skip }) => {
      skip(boxes.hasProcesses, "These boxes have processes.");
      await expect(box.spawn(aProcess(["cat"]), FOREVER)).rejects.toMatchObject({ code: "box.forbidden" });
    });

    it("say what they are given until their input ends", async ({ skip }) => {
      skip(!boxes.hasProcesses, NONE);
      await using cat = await box.spawn(aProcess(["cat"]), FOREVER);
      const reader = new EventReader(cat);
      await cat.write(Buffer.from("one\n"), FOREVER);
      await reader.until("one\n");
      await cat.write(Buffer.from("two\n"), FOREVER);
      await cat.endInput(FOREVER);
      expect(await reader.exit()).toMatchObject({ status: "completed", exitCode: 0 });
      expect(reader.text).toBe("one\ntwo\n");
      await expect(cat.write(Buffer.from("x"), FOREVER)).rejects.toMatchObject({
        code: "box.process_not_found",
      });
      await expect(cat.endInput(FOREVER)).rejects.toMatchObject({ code: "box.process_not_found" });
      for (const act of [() => cat.resize(SIZE), () => cat.terminate(), () => cat.kill()])
        expect(act).not.toThrow();
    });

    it("take more input than can be on its way, as fast as they read it", async ({ skip }) => {
      skip(!boxes.hasProcesses, NONE);
      await using cat = await box.spawn(aProcess(["cat"]), FOREVER);
      const reader = new EventReader(cat);
      const piece = Buffer.alloc(150_000, "x");
      const writing = (async () => {
        for (let i = 0; i < 8; i += 1) await cat.write(piece, FOREVER);
        await cat.endInput(FOREVER);
      })();
      expect(await reader.exit()).toMatchObject({ exitCode: 0 });
      await writing;
      expect(reader.text.length).toBe(8 * piece.length);
    });

    it("hold up a writer that is free to give up while they do not read", async ({ skip }) => {
      skip(!boxes.hasProcesses, NONE);
      await using sleeper = await box.spawn(aProcess(["sleep", "1000"]), FOREVER);
      const reader = new EventReader(sleeper);
      const reason = new Error("given up");
      const giveUp = new AbortController();
      const writing = sleeper.write(Buffer.alloc(200_000), giveUp);
      const more = writing.then(async () => sleeper.write(Buffer.alloc(200_000), giveUp));
      more.catch(() => undefined);
      giveUp.abort(reason);
      await expect(more).rejects.toBe(reason);
      sleeper.kill();
      expect(await reader.exit()).toMatchObject({ status: "cancelled", exitCode: null });
    });

    it("end by TERM, and are killed with all they started", async ({ skip }) => {
      skip(!boxes.hasProcesses, NONE);
      await using polite = await box.spawn(aProcess(["sleep", "1000"]), FOREVER);
      polite.terminate();
      const exit = await new EventReader(polite).exit();
      expect(exit).toMatchObject({ status: "killed", exitCode: null });
      expect(exit.notes.join(" ")).toContain("SIGTERM");
      await using tree = await box.spawn(aProcess(["sh", "-c", "echo begun; sleep 1000"]), FOREVER);
      const reader = new EventReader(tree);
      await reader.until("begun\n");
      tree.kill();
      expect(await reader.exit()).toMatchObject({ status: "cancelled", exitCode: null });
    });

    it("are not started for nothing", async ({ skip }) => {
      skip(!boxes.hasProcesses, NONE);
      const nowhere = aProcess(["cat"], { workdir: "/etc" });
      await expect(box.spawn(nowhere, FOREVER)).rejects.toMatchObject({ code: "box.validation" });
      const reason = new Error("given up");
      const options = { signal: AbortSignal.abort(reason) };
      await expect(box.spawn(aProcess(["cat"]), options)).rejects.toBe(reason);
      const soon = new AbortController();
      const starting = box.spawn(aProcess(["sleep", "1000"]), soon);
      soon.abort(reason);
      await expect(starting).rejects.toBe(reason);
    });

    it("have a terminal of the size they are told", async ({ skip }) => {
      skip(!boxes.hasProcesses, NONE);
      const request = aProcess(["sh", "-c", "stty size; read x; stty size"], { terminal: SIZE });
      await using shell = await box.spawn(request, FOREVER);
      const reader = new EventReader(shell);
      await reader.until("24 80\r\n");
      shell.resize({ rows: 30, columns: 100 });
      await shell.write(Buffer.from("\n"), FOREVER);
      expect(await reader.exit()).toMatchObject({ exitCode: 0 });
      expect(reader.text).toContain("30 100\r\n");
    });

    it("end when they are disposed of, and with the handle that started them", async ({ skip }) => {
      skip(!boxes.hasProcesses, NONE);
      await using one = await box.spawn(aProcess(["sleep", "1000"]), FOREVER);
      await one[Symbol.asyncDispose]();
      await one[Symbol.asyncDispose]();
      expect(await new EventReader(one).exit()).toMatchObject({ status: "cancelled" });
      const lease = await boxes.backend.open(place, FOREVER);
      await using other = await lease.spawn(aProcess(["sleep", "1000"]), FOREVER);
      await lease[Symbol.asyncDispose]();
      expect(await new EventReader(other).exit()).toMatchObject({ status: "cancelled" });
      await expect(lease.spawn(aProcess(["cat"]), FOREVER)).rejects.toMatchObject({ code: "box.readiness" });
    });

    it("say so when their box ends", async ({ skip }) => {
      skip(!boxes.hasProcesses, NONE);
      const lonely = boxes.newPlace();
      await boxes.backend.prepareWorkspace(lonely, boxes.settings, FOREVER);
      await boxes.backend.start(lonely, boxes.settings, FOREVER);
      await using lease = await boxes.backend.open(lonely, FOREVER);
      await using victim = await lease.spawn(aProcess(["sleep", "1000"]), FOREVER);
      await boxes.backend.removeContainer(lonely.container, FOREVER);
      const exit = await new EventReader(victim).exit();
      expect(exit).toMatchObject({ status: "killed", exitCode: null });
      expect(exit.notes.join(" ")).toContain("The box stopped");
    });
  });
}

export function aProcess(argv: readonly string[], fields: Partial<SpawnRequest> = {}): SpawnRequest {
  return { argv, workdir: "/workspace", env: {}, terminal: null, ...fields };
}

/** Reads what a process says, bit by bit. */
export class EventReader {
  text = "";
  readonly #events: AsyncIterator<ExecEvent>;

  constructor(process: BoxProcess) {
    this.#events = process.events[Symbol.asyncIterator]();
  }

  /** Reads until all of it so far contains a text. */
  async until(part: string): Promise<void> {
    while (!this.text.includes(part)) {
      const exit = await this.#step();
      if (exit !== null) throw new Error(`The process ended without saying ${JSON.stringify(part)}.`);
    }
  }

  /** Reads to the end. */
  async exit(): Promise<ExecExit> {
    for (;;) {
      const exit = await this.#step();
      if (exit !== null) return exit;
    }
  }

  async #step(): Promise<ExecExit | null> {
    const step = await this.#events.next();
    if (step.done === true) throw new Error("The process ended without an exit.");
    if (step.value.type === "exit") return step.value.exit;
    this.text += Buffer.from(step.value.bytes).toString("utf8");
    return null;
  }
}
