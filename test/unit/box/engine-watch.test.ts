import { beforeEach, describe, expect, it } from "vitest";
import { EngineWatch } from "../../../src/box/engine-watch.js";
import type { BoxControl } from "../../../src/domain/box-control.js";
import { ServiceError } from "../../../src/domain/errors.js";
import { endsWithin } from "../../../src/lib/delay.js";
import { Gate } from "../../fakes/gate.js";
import { textLike } from "../../support/text-like.js";
import { aWorld, ENDLESS, SETTINGS } from "./box-world.js";

let world: ReturnType<typeof aWorld>;
let watch: EngineWatch;

beforeEach(() => {
  world = aWorld();
  watch = new EngineWatch({ ...world, settings: SETTINGS });
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
      controls: [],
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
      isolation: ["seccomp", "user-namespace"],
      quota: "watchdog",
      warnings: ["It has no seccomp."],
    });
    world.backend.controls = [
      { name: "no-capabilities", state: "enforced", detail: "none" },
      { name: "apparmor", state: "ignored", detail: "there is none" },
    ];
    await watch.current(ENDLESS);
    await watch.check(ENDLESS);
    expect(world.logger.lines).toMatchObject([
      {
        level: "info",
        fields: { version: "20.10", isolation: "no-capabilities user-namespace", quota: "watchdog" },
      },
      { level: "warn", fields: { reason: "It has no seccomp." } },
      {
        level: "warn",
        fields: { reason: "The host does not keep up a control of boxes: apparmor (there is none)." },
      },
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

describe("the self-check of the engine watch", () => {
  const IGNORED: BoxControl = { name: "no-capabilities", state: "ignored", detail: "capabilities ff" };

  it("is made once while the engine is there, and again when it has come back", async () => {
    await watch.current(ENDLESS);
    await watch.check(ENDLESS);
    await watch.ready(ENDLESS);
    expect(world.backend.counts.selfChecks).toBe(1);
    watch.report(new ServiceError("box.engine_unavailable", "The engine is gone."));
    await watch.ready(ENDLESS);
    await watch.current(ENDLESS);
    expect(world.backend.counts.selfChecks).toBe(2);
  });

  it("is waited for by those who come first, at most until 5 s after the probe began", async () => {
    const gate = new Gate();
    const begun = holdChecks(gate);
    const first = watch.current(ENDLESS);
    await begun.opened;
    const isEarly = await endsWithin(first, 20);
    world.clock.advance(0.5);
    const second = watch.current(ENDLESS);
    world.clock.advance(4999.5);
    expect([isEarly, await watch.current(ENDLESS)]).toMatchObject([
      false,
      { state: "available", controls: [], facts: { warnings: [textLike(/self-check has no answer yet/)] } },
    ]);
    gate.open();
    for (const waited of [first, second])
      expect(await waited).toMatchObject({ state: "available", controls: [{ name: "network-none" }] });
  });

  it("is waited for whatever the clock's fractions are", async () => {
    const gate = new Gate();
    const begun = holdChecks(gate);
    const first = watch.current(ENDLESS);
    await begun.opened;
    world.clock.advance(0.25);
    const second = watch.current(ENDLESS);
    gate.open();
    expect(await Promise.all([first, second])).toMatchObject([
      { state: "available" },
      { state: "available" },
    ]);
  });

  it("lets go of a caller who gives up", async () => {
    const gate = new Gate();
    const begun = holdChecks(gate);
    const cancel = new AbortController();
    const waiting = watch.current(cancel);
    await begun.opened;
    cancel.abort(new Error("cancelled"));
    await expect(waiting).rejects.toThrow("cancelled");
    await expect(watch.current(cancel)).rejects.toThrow("cancelled");
    gate.open();
  });

  it("refuses boxes that are not kept apart until a later round proves something else", async () => {
    world.backend.controls = [IGNORED];
    await expect(watch.ready(ENDLESS)).rejects.toMatchObject({
      code: "box.readiness",
      message: "The engine makes boxes that are not kept apart: no-capabilities (capabilities ff).",
    });
    await expect(watch.ready(ENDLESS)).rejects.toMatchObject({ code: "box.readiness" });
    expect(world.backend.counts.selfChecks).toBe(1);
    expect(world.logger.lines).toMatchObject([{ level: "warn", fields: { code: "box.readiness" } }]);
    world.backend.controls = [{ ...IGNORED, state: "enforced" }];
    await watch.check(ENDLESS);
    expect(await watch.current(ENDLESS)).toMatchObject({ state: "available" });
  });

  it("that fails is told once, made again, and keeps nobody from an engine that answers", async () => {
    world.backend.controls = new ServiceError("box.readiness", "No box runs.");
    await watch.ready(ENDLESS);
    await watch.check(ENDLESS);
    await watch.current(ENDLESS);
    const said = world.logger.lines.filter(({ message }) => message === "The self-check of boxes failed.");
    expect([world.backend.counts.selfChecks, said.length]).toEqual([2, 1]);
    world.backend.controls = new ServiceError("box.readiness", "Still no box runs.");
    await watch.check(ENDLESS);
    expect(await watch.current(ENDLESS)).toMatchObject({
      facts: { warnings: [textLike(/the self-check failed: Still no box runs\./)] },
    });
  });

  it("stops with the service, and begins no more", async () => {
    const gate = new Gate();
    const begun = holdChecks(gate);
    const waiting = watch.current(ENDLESS);
    await begun.opened;
    const closing = watch[Symbol.asyncDispose]();
    gate.open();
    await closing;
    await waiting;
    await watch.check(ENDLESS);
    expect([world.backend.counts.selfChecks, world.logger.lines]).toEqual([0, []]);
  });
});

/** @returns a gate that opens when a check has begun */
function holdChecks(gate: Gate): Gate {
  const begun = new Gate();
  const selfCheck = world.backend.selfCheck.bind(world.backend);
  world.backend.selfCheck = async (settings, options) => {
    begun.open();
    await gate.opened;
    return selfCheck(settings, options);
  };
  return begun;
}
