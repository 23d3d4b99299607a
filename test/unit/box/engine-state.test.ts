import { describe, expect, it } from "vitest";
import { judgeEngine, requireAvailable } from "../../../src/box/engine-state.js";
import type { BoxControl } from "../../../src/domain/box-control.js";
import type { EngineFacts } from "../../../src/ports/box-backend.js";

const FACTS: EngineFacts = {
  name: "local",
  version: "20.10",
  isolation: ["seccomp", "apparmor", "user-namespace"],
  quota: "watchdog",
  warnings: ["runc is old."],
  transport: "exec_stream",
};
const enforced: BoxControl = { name: "seccomp", state: "enforced", detail: "mode 2" };
const ignored = (name: BoxControl["name"]): BoxControl => ({ name, state: "ignored", detail: "seen" });

describe("judgeEngine", () => {
  it("names what was proved, and of what the engine says only what no probe can see", () => {
    const controls = [enforced, ignored("apparmor"), ignored("workspace-quota")];
    expect(judgeEngine(FACTS, { state: "proved", controls }, null)).toEqual({
      state: "available",
      controls,
      facts: {
        ...FACTS,
        isolation: ["seccomp", "user-namespace"],
        warnings: ["runc is old.", "The host does not keep up a control of boxes: apparmor (seen)."],
      },
    });
  });

  it("says which controls nobody could look at", () => {
    const unknown: BoxControl = { name: "cpu-limit", state: "unknown", detail: "-" };
    expect(judgeEngine(FACTS, { state: "proved", controls: [enforced, unknown] }, null)).toMatchObject({
      facts: { warnings: ["runc is old.", "The self-check could not look at cpu-limit (-)."] },
    });
  });

  it.each([
    "non-root-uids",
    "no-capabilities",
    "no-new-privileges",
    "network-none",
    "no-engine-socket",
  ] as const)("hands out no box without %s, whatever carries it", (name) => {
    for (const runtime of [null, "runsc"])
      expect(judgeEngine(FACTS, { state: "proved", controls: [ignored(name)] }, runtime)).toMatchObject({
        state: "unavailable",
        code: "box.readiness",
        reason: `The engine makes boxes that are not kept apart: ${name} (seen).`,
        controls: [{ name }],
      });
  });

  it("wants the kernel's filter of calls only where the kernel itself carries the box", () => {
    const proof = { state: "proved", controls: [ignored("seccomp")] } as const;
    expect(judgeEngine(FACTS, proof, null).state).toBe("unavailable");
    expect(judgeEngine(FACTS, proof, "runsc")).toMatchObject({
      state: "available",
      facts: { isolation: ["user-namespace"] },
    });
  });

  it("takes back a quota of the kernel that is not really there", () => {
    const proof = { state: "proved", controls: [ignored("workspace-quota")] } as const;
    expect(judgeEngine({ ...FACTS, quota: "loop" }, proof, null)).toMatchObject({
      facts: {
        quota: "watchdog",
        warnings: ["runc is old.", "The host does not keep up a control of boxes: workspace-quota (seen)."],
      },
    });
    expect(
      judgeEngine({ ...FACTS, quota: "loop" }, { state: "proved", controls: [enforced] }, null),
    ).toMatchObject({
      facts: { quota: "loop" },
    });
  });

  it("believes the engine with a warning while nothing is proved, but no runtime that was asked for", () => {
    expect(judgeEngine(FACTS, { state: "open" }, null)).toMatchObject({
      state: "available",
      controls: [],
      facts: { isolation: FACTS.isolation, warnings: { length: 2 } },
    });
    expect(judgeEngine(FACTS, { state: "failed", reason: "No box runs." }, null)).toMatchObject({
      state: "available",
      facts: { warnings: { length: 2 } },
    });
    expect(judgeEngine(FACTS, { state: "open" }, "runsc")).toMatchObject({
      state: "unavailable",
      reason: 'The runtime "runsc" has not passed its test yet.',
    });
    expect(judgeEngine(FACTS, { state: "failed", reason: "No box runs." }, "runsc")).toMatchObject({
      state: "unavailable",
      reason: 'The runtime "runsc" failed its test: No box runs.',
    });
  });
});

describe("requireAvailable", () => {
  it("gives what an engine says that carries boxes", () => {
    expect(requireAvailable({ state: "available", facts: FACTS, controls: [] })).toBe(FACTS);
  });

  it("refuses with what the engine lacks, and one that nobody has asked yet as one that is away", () => {
    const lack = { code: "box.readiness", hint: "Build it." } as const;
    const refused = {
      ...lack,
      state: "unavailable",
      reason: "The engine has no image.",
      controls: [],
    } as const;
    expect(() => requireAvailable(refused)).toThrow(expect.objectContaining(lack));
    expect(() => requireAvailable({ state: "unknown" })).toThrow(
      expect.objectContaining({ code: "box.engine_unavailable" }),
    );
  });
});
