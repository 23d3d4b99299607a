import { describe, expect, it } from "vitest";
import {
  clampTimeoutSec,
  findSettingsChanges,
  resolveBoxPolicy,
  resolveBoxSettings,
  settingsFingerprint,
} from "../../../src/box/box-policy.js";
import { proves } from "../../support/proves.js";

const image = "berth-box:full";
const code = (act: () => unknown): unknown => {
  try {
    act();
  } catch (error) {
    return error instanceof Error && "code" in error ? error.code : error;
  }
  return "no error";
};

describe("resolveBoxPolicy", () => {
  it("lets operators override what a profile does not lock, and nothing else", () => {
    proves("BOX-14");
    const asked = { image, network: "on", workspaceMode: "rw", readOnlyRootfs: false, cpus: 4 } as const;
    expect(resolveBoxPolicy("offline_readonly", asked)).toMatchObject({
      network: "off",
      workspaceMode: "ro",
      readOnlyRootfs: true,
      cpus: 4,
    });
    expect(resolveBoxPolicy("default", asked)).toMatchObject({ network: "on", readOnlyRootfs: false });
    expect(resolveBoxPolicy("default", { image, execTimeoutSec: 500 }).execTimeoutSec).toBe(120);
    expect(resolveBoxPolicy("default", { image, execTimeoutSec: "500" }).execTimeoutSec).toBe(120);
    expect(() => resolveBoxPolicy("nope", { image })).toThrow(
      expect.objectContaining({
        code: "box.validation",
        hint: "Use one of default, offline_readonly, network_basic, network_extended.",
      }),
    );
    expect(code(() => resolveBoxPolicy("constructor", { image }))).toBe("box.validation");
  });

  it.each([
    ["default", ["off", "rw", 1, 512, 128, true, 30, 120, 1024]],
    ["offline_readonly", ["off", "ro", 0.5, 256, 64, true, 30, 60, 0]],
    ["network_basic", ["on", "rw", 1, 512, 128, true, 30, 120, 1024]],
    ["network_extended", ["on", "rw", 2, 1024, 256, false, 30, 300, 2048]],
  ])("gives %s its values", (profile, values) => {
    const policy = resolveBoxPolicy(profile, { image });
    expect([
      policy.network,
      policy.workspaceMode,
      policy.cpus,
      policy.memoryMb,
      policy.pidsLimit,
      policy.readOnlyRootfs,
      policy.execTimeoutSec,
      policy.execMaxTimeoutSec,
      policy.workspaceQuotaMb,
    ]).toEqual(values);
  });

  it("keeps the profile's value where the operator said nothing", () => {
    expect(
      resolveBoxPolicy("default", { image, memoryMb: null, cpus: undefined, workspaceQuotaMb: 0 }),
    ).toMatchObject({ memoryMb: 512, cpus: 1, workspaceQuotaMb: 0 });
  });
});

describe("resolveBoxSettings", () => {
  it("gives a network through the broker only, and none where the profile locks it away", () => {
    for (const settings of [
      resolveBoxSettings("network_basic", { image }),
      resolveBoxSettings("network_extended", { image }),
      resolveBoxSettings("default", { image, network: "on" }),
    ])
      expect(settings.network).toBe("broker");
    expect(resolveBoxSettings("network_basic", { image, network: "off" }).network).toBe("none");
    expect(resolveBoxSettings("offline_readonly", { image, network: "on" }).network).toBe("none");
    expect(code(() => resolveBoxSettings("nope", { image }))).toBe("box.validation");
  });
});

describe("clampTimeoutSec", () => {
  it.each([
    [10, 10],
    ["10", 10],
    [" 7.5 ", 7.5],
    [9999, 120],
    ["9999", 120],
    [0, 30],
    [-5, 30],
    ["-5", 30],
    ["soon", 30],
    ["1e9", 30],
    [Number.NaN, 30],
    [Number.POSITIVE_INFINITY, 120],
    [null, 30],
    [{}, 30],
  ])("takes %o as %d s", (requested, seconds) => {
    expect(clampTimeoutSec(requested, { execTimeoutSec: 30, execMaxTimeoutSec: 120 })).toBe(seconds);
  });
});

describe("settingsFingerprint", () => {
  const settings = resolveBoxSettings("default", { image });

  it("changes with what a container is made with, and not with timeouts", () => {
    const bigger = { ...settings, memoryMb: 1024, cpus: 2 };
    const slower = { ...settings, execTimeoutSec: 60, execMaxTimeoutSec: 90 };
    expect(settingsFingerprint(bigger)).not.toBe(settingsFingerprint(settings));
    expect(settingsFingerprint(slower)).toBe(settingsFingerprint(settings));
    expect(findSettingsChanges(settings, bigger)).toEqual(["cpus", "memoryMb"]);
    expect(findSettingsChanges(settings, slower)).toEqual([]);
  });

  it("changes with runtime and extra mounts, and not with the variables of commands", () => {
    const extraMounts = [{ source: "/srv/a", target: "/a", readOnly: true }];
    const other = resolveBoxSettings("default", { image, runtime: "runsc", extraMounts, env: { A: "1" } });
    expect(findSettingsChanges(settings, other)).toEqual(["runtime", "extraMounts"]);
    expect(findSettingsChanges({ ...other, extraMounts: [...extraMounts] }, other)).toEqual([]);
    expect(settingsFingerprint({ ...settings, env: { A: "1" } })).toBe(settingsFingerprint(settings));
  });

  it("does not depend on the order of the fields", () => {
    const turned = Object.fromEntries(Object.entries(settings).toReversed());
    expect(settingsFingerprint({ ...settings, ...turned })).toBe(settingsFingerprint(settings));
  });
});
