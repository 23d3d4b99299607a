import { beforeEach, describe, expect, it } from "vitest";
import { EngineWatch } from "../../../src/box/engine-watch.js";
import { ServiceError } from "../../../src/domain/errors.js";
import { aWorld, ENDLESS } from "./box-world.js";

let world: ReturnType<typeof aWorld>;
let watch: EngineWatch;

beforeEach(() => {
  world = aWorld();
  watch = new EngineWatch({ ...world, image: "berth-box:slim" });
});

describe("EngineWatch", () => {
  it("probes once for all who ask at the same time, and knows the answer afterwards", async () => {
    let probes = 0;
    const probe = world.backend.probe.bind(world.backend);
    world.backend.probe = async (options) => {
      probes += 1;
      return probe(options);
    };
    await Promise.all([watch.current(ENDLESS), watch.current(ENDLESS), watch.ready(ENDLESS)]);
    await watch.current(ENDLESS);
    await watch.ready(ENDLESS);
    expect(probes).toBe(1);
  });

  it("probes before the next use when a call showed the engine lost, and only then", async () => {
    await watch.ready(ENDLESS);
    watch.report(new Error("something else"));
    watch.report(new ServiceError("box.capacity", "full"));
    expect((await watch.current(ENDLESS)).state).toBe("available");
    watch.report(new ServiceError("box.engine_unavailable", "The engine is gone.", { hint: "look" }));
    expect(await watch.current(ENDLESS)).toEqual({
      state: "unavailable",
      code: "box.engine_unavailable",
      reason: "The engine is gone.",
      hint: "look",
    });
    await watch.ready(ENDLESS);
    expect((await watch.current(ENDLESS)).state).toBe("available");
    expect(world.errors.newest("main")).toMatchObject([
      { code: "box.engine_unavailable", message: "The engine is gone." },
    ]);
  });

  it("tells the log once what is in force, and each thing that is not", async () => {
    const probe = world.backend.probe.bind(world.backend);
    world.backend.probe = async (options) => ({
      ...(await probe(options)),
      version: "20.10",
      isolation: ["no-capabilities", "seccomp"],
      quota: "watchdog",
      warnings: ["It has no seccomp."],
    });
    await watch.check(ENDLESS);
    await watch.check(ENDLESS);
    expect(world.logger.lines).toMatchObject([
      {
        level: "info",
        fields: { version: "20.10", isolation: "no-capabilities seccomp", quota: "watchdog" },
      },
      { level: "warn", fields: { reason: "It has no seccomp." } },
    ]);
  });

  it("keeps what is not ours out of the reason", async () => {
    world.backend.probe = async () => {
      throw new Error("connect /secret/path.sock");
    };
    const state = await watch.check(ENDLESS);
    expect(JSON.stringify(state)).not.toContain("secret");
    await expect(watch.ready(ENDLESS)).rejects.toThrow(expect.objectContaining({ code: "internal" }));
  });

  it("stops with the caller's reason", async () => {
    const signal = AbortSignal.abort(new Error("cancelled"));
    await expect(watch.check({ signal })).rejects.toThrow("cancelled");
    const cancel = new AbortController();
    world.backend.probe = async () => {
      cancel.abort(new Error("cancelled"));
      throw new Error("late");
    };
    await expect(watch.check({ signal: cancel.signal })).rejects.toThrow("cancelled");
  });
});
