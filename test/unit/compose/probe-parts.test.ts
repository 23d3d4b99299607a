import { describe, expect, it } from "vitest";
import { describeStatus } from "../../../src/box/box-status.js";
import { type ProbedParts, probeParts } from "../../../src/compose/probe-parts.js";

const options = { signal: new AbortController().signal };

function someParts(changed: Partial<ProbedParts> = {}): ProbedParts {
  return {
    stores: { ping: async () => undefined },
    boxes: { status: async () => describeStatus("disabled", { limit: 1, used: 0, network: "none" }) },
    configuredModels: 1,
    ...changed,
  };
}

describe("probeParts", () => {
  it("finds every part well when the store answers and boxes are not wanted", async () => {
    expect(await probeParts(someParts(), options)).toEqual([
      { name: "store", ok: true, reason: null },
      { name: "boxes", ok: true, reason: "Boxes are switched off." },
      { name: "models", ok: true, reason: null },
    ]);
  });

  it("names a store that does not answer, without what the driver said", async () => {
    const stores = { ping: () => Promise.reject(new Error("/srv/data/berth.db is locked")) };
    const [store] = await probeParts(someParts({ stores }), options);
    expect(store).toEqual({ name: "store", ok: false, reason: "The database does not answer." });
  });

  it("gives the reason why boxes cannot be had", async () => {
    const engine = {
      state: "unavailable" as const,
      code: "box.readiness" as const,
      reason: 'The engine has no image "x".',
      hint: "Build it.",
      controls: [],
    };
    const status = async () => describeStatus(engine, { limit: 1, used: 0, network: "none" });
    const [, boxes] = await probeParts(someParts({ boxes: { status } }), options);
    expect(boxes).toEqual({ name: "boxes", ok: false, reason: 'The engine has no image "x".' });
  });

  it("names what keeps the boxes of an engine", async () => {
    const facts = {
      name: "e",
      version: "1",
      isolation: ["no-capabilities", "seccomp"],
      warnings: [],
      transport: null,
    };
    const engine = {
      state: "available" as const,
      controls: [],
      facts: { ...facts, quota: "watchdog" as const },
    };
    const status = async () => describeStatus(engine, { limit: 1, used: 0, network: "none" });
    const [, boxes] = await probeParts(someParts({ boxes: { status } }), options);
    const reason = "In force: no-capabilities, seccomp; disk quota: watchdog.";
    expect(boxes).toEqual({ name: "boxes", ok: true, reason });
  });

  it("does not leave a gap where nothing is known of the controls", async () => {
    const facts = {
      name: "e",
      version: "1",
      isolation: [],
      warnings: [],
      transport: null,
      quota: "loop" as const,
    };
    const engine = { state: "available" as const, controls: [], facts };
    const status = async () => describeStatus(engine, { limit: 1, used: 0, network: "none" });
    const [, boxes] = await probeParts(someParts({ boxes: { status } }), options);
    expect(boxes?.reason).toBe("In force: nothing that is known of; disk quota: loop.");
  });

  it("says that only the offline model answers, which is well", async () => {
    const [, , models] = await probeParts(someParts({ configuredModels: 0 }), options);
    expect(models).toEqual({ name: "models", ok: true, reason: "Only the offline demo model." });
  });
});
