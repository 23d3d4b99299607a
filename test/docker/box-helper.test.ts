/** The in-box helper when it is killed, replaced, missing or a liar (box §6.2, security §9). */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BoxdHelper } from "../../src/adapters/boxd/boxd-helper.js";
import { SystemClock } from "../../src/adapters/system/system-clock.js";
import type { BoxPlace } from "../../src/ports/box-backend.js";
import type { BoxChannel } from "../../src/ports/box-channel.js";
import type { BoxHandle } from "../../src/ports/box-handle.js";
import type { BoxHelper, HelperGround, HelperSession } from "../../src/ports/box-helper.js";
import { run } from "../contracts/box-backend.js";
import { FOREVER, HELPER_IMAGE, hasEngine, TestEngine } from "../support/engine.js";

/** Serves like the real one, but what the box says goes through a hand of the test first. */
class TamperedHelper implements BoxHelper {
  readonly image = HELPER_IMAGE;
  /** Null leaves the bytes alone. */
  tamper: ((bytes: Uint8Array) => Uint8Array) | null = null;
  readonly #real: BoxdHelper;

  constructor(engine: Pick<TestEngine, "logger">) {
    this.#real = new BoxdHelper({ image: HELPER_IMAGE, clock: new SystemClock(), logger: engine.logger });
  }

  serve(ground: HelperGround): HelperSession {
    return this.#real.serve({
      container: ground.container,
      limits: ground.limits,
      wake: async (options) => ground.wake(options),
      isStopped: async (options) => ground.isStopped(options),
      clear: async () => ground.clear(),
      restart: async () => ground.restart(),
      openChannel: async (options) => this.#wrap(await ground.openChannel(options)),
    });
  }

  #wrap(channel: BoxChannel): BoxChannel {
    const bytes = this.#change(channel.bytes);
    return {
      bytes,
      get hasEnded() {
        return channel.hasEnded;
      },
      get diagnostics() {
        return channel.diagnostics;
      },
      write: async (out, options) => channel.write(out, options),
      close: async () => channel.close(),
      [Symbol.asyncDispose]: async () => channel.close(),
    };
  }

  async *#change(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const piece of bytes) yield this.tamper === null ? piece : this.tamper(piece);
  }
}

const LIES: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
  garbage: (bytes) => new Uint8Array(bytes.length).fill(0xff),
  "a huge length": () => Buffer.from([0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0x88, 0, 0, 0]),
  "half a frame and then another": (bytes) => Buffer.concat([bytes.subarray(0, bytes.length >> 1), bytes]),
  "the end of a command that nobody started": () =>
    Buffer.from([1, 0, 0, 0, 0xff, 0, 0, 0, 0x85, 0, 0, 0, 0]),
};

describe.skipIf(!hasEngine())("the helper of a box", () => {
  let engine: TestEngine;
  let place: BoxPlace;
  let box: BoxHandle;
  const helper = new TamperedHelper({ logger: new TestEngine("engine").logger });

  beforeAll(async () => {
    engine = new TestEngine("helper", helper);
    ({ place, box } = await engine.startBox());
  });
  afterAll(async () => {
    await box[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
  });

  const shell = async (text: string) => run(box, ["sh", "-c", text]);
  const helpers = async () =>
    (await engine.processes(place.container)).filter((line) => line.includes("/opt/berth/boxd serve"));

  it("is one for all leases and all requests", async () => {
    await using other = await engine.backend.open(place, FOREVER);
    await Promise.all([shell("true"), run(other, ["true"]), other.files.stat(["/workspace"], FOREVER)]);
    await delay(100);
    expect(await helpers()).toHaveLength(1);
  });

  it("is replaced when it is killed, and nobody mistakes that for an end of a command", async () => {
    const { exit } = await shell("setsid sleep 1000 & pkill -9 -x boxd; sleep 5");
    expect(exit).toMatchObject({ status: "killed", exitCode: null });
    expect((await shell("echo again")).stdout).toBe("again\n");
    expect((await engine.processes(place.container)).filter((line) => line.includes("sleep"))).toEqual([]);
  });

  it("is reached by nobody in the box: what a command writes to its descriptors is no frame", async () => {
    const text =
      "printf '\\377\\377\\377\\377garbage'; for f in /proc/[0-9]*/fd/1; do printf garbage > $f; done 2>/dev/null; true";
    const { exit } = await shell(text);
    expect(exit).toMatchObject({ status: "completed", exitCode: 0 });
    expect((await shell("echo sound")).stdout).toBe("sound\n");
    expect((await shell("touch /opt/berth/x; echo x > /opt/berth/boxd")).exit.exitCode).not.toBe(0);
  });

  it.each(Object.entries(LIES))("is dropped when it says %s, and the next one serves", async (_what, lie) => {
    await shell("true");
    const before = process.memoryUsage().rss;
    helper.tamper = lie;
    const result = await shell("sleep 0.1; echo success").then(
      ({ exit }) => exit.status,
      (error: unknown) => (error instanceof Error ? error.name : "error"),
    );
    helper.tamper = null;
    expect(["killed", "ServiceError"]).toContain(result);
    expect((await shell("echo back")).stdout).toBe("back\n");
    expect(process.memoryUsage().rss - before).toBeLessThan(50_000_000);
  });

  it("is done without where its image is missing, with one warning in log and status", async () => {
    const missing = new BoxdHelper({
      image: "no-such-image:none",
      clock: new SystemClock(),
      logger: engine.logger,
    });
    await using poor = new TestEngine("helper", missing);
    const { box: plain } = await poor.startBox();
    expect((await run(plain, ["echo", "hello"])).stdout).toBe("hello\n");
    await plain[Symbol.asyncDispose]();
    expect(poor.logger.lines.filter(({ message }) => message.includes("without their helper"))).toHaveLength(
      1,
    );
    expect((await poor.backend.probe(FOREVER)).warnings.join(" ")).toContain("no-such-image:none");
  });

  it("answers fast, once it is there", async () => {
    await run(box, ["true"]);
    const times: number[] = [];
    for (let round = 0; round < 20; round += 1) {
      const begun = performance.now();
      await run(box, ["true"]);
      times.push(performance.now() - begun);
    }
    expect(times.toSorted((a, b) => a - b)[10]).toBeLessThan(100);
  });
});
