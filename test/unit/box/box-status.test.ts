import { describe, expect, it } from "vitest";
import { describeEngine, describeStatus } from "../../../src/box/box-status.js";
import type { EngineState } from "../../../src/box/engine-state.js";

const facts = {
  name: "e",
  version: "1",
  isolation: ["seccomp"],
  quota: "loop" as const,
  warnings: [],
  transport: "socket" as const,
};

describe("describeStatus", () => {
  it("says unknown, never 0, where nothing is known", () => {
    const away = {
      state: "unavailable",
      code: "box.engine_unavailable",
      reason: "gone",
      hint: "",
      controls: [],
    } as const;
    for (const state of ["disabled", { state: "unknown" }, away] as const)
      expect(describeStatus(state, { limit: 5, used: 2, network: "none" })).toMatchObject({
        available: false,
        limit: null,
        used: null,
        remaining: null,
      });
    expect(describeStatus({ state: "unknown" }, { limit: 5, used: 2, network: "none" }).reason).toContain(
      "not probed",
    );
  });

  it("never tells less than none remaining", () => {
    const status = describeStatus(
      { state: "available", controls: [], facts },
      { limit: 5, used: 7, network: "none" },
    );
    expect(status).toMatchObject({ remaining: 0, used: 7, isolation: ["seccomp"], quota: "loop" });
  });
});

function through(transport: "socket" | "worker" | null): EngineState {
  return { state: "available", controls: [], facts: { ...facts, transport } };
}

describe("boxes with a network", () => {
  const of = { name: "local", image: "i", limit: 5, used: 0, network: "broker" } as const;
  it("have the broker among what is in force, and boxes without one have not", () => {
    for (const transport of ["socket", null] as const)
      expect(describeStatus(through(transport), of).isolation).toEqual(["seccomp", "egress-broker"]);
    expect(describeStatus(through("socket"), { ...of, network: "none" }).isolation).toEqual(["seccomp"]);
    expect(describeEngine(through("socket"), of).warnings).toEqual([]);
  });

  it("are said to be refused where boxes are served without the helper", () => {
    expect(describeStatus(through("worker"), of).isolation).toEqual(["seccomp"]);
    expect(describeEngine(through("worker"), of).warnings).toEqual([
      "Boxes with a network are refused: only the helper can hold them to their list of hosts.",
    ]);
    expect(describeEngine(through("worker"), { ...of, network: "none" }).warnings).toEqual([]);
  });
});

describe("describeEngine", () => {
  const of = { name: "local", image: "berth-box:slim", network: "none" } as const;

  it("tells version and image of an engine that carries boxes, and what it cannot enforce", () => {
    const weak = { ...facts, warnings: ["No quota."] };
    expect(describeEngine({ state: "available", controls: [], facts: weak }, of)).toEqual({
      name: "local",
      version: "1",
      images: ["berth-box:slim"],
      warnings: ["No quota."],
      transport: "socket",
      controls: [],
    });
  });

  it("tells only the name of one that is not there", () => {
    for (const state of ["disabled", { state: "unknown" }] as const)
      expect(describeEngine(state, of)).toEqual({
        name: "local",
        version: null,
        images: [],
        warnings: [],
        transport: null,
        controls: [],
      });
  });

  it("tells what a self-check found, also where no box is handed out for it", () => {
    const controls = [{ name: "seccomp", state: "ignored", detail: "mode 0" }] as const;
    const refused = {
      state: "unavailable",
      code: "box.readiness",
      reason: "no",
      hint: "",
      controls,
    } as const;
    expect(describeEngine(refused, of)).toMatchObject({ version: null, controls });
    expect(describeEngine({ state: "available", facts, controls }, of)).toMatchObject({ controls });
  });
});
