import { describe, expect, it } from "vitest";
import { describeEngine, hasRaceFixes } from "../../../../src/adapters/docker/engine-facts.js";
import { engineInfoSchema, engineVersionSchema } from "../../../../src/adapters/docker/engine-views.js";

const INFO = {
  ServerVersion: "28.1.0",
  SecurityOptions: ["name=seccomp,profile=builtin", "name=cgroupns"],
  MemoryLimit: true,
  SwapLimit: true,
  PidsLimit: true,
  CpuCfsQuota: true,
};
const VERSION = { Version: "28.1.0", Components: [{ Name: "runc", Version: "1.2.9" }] };

function facts(info: object = {}, version: object = {}) {
  return describeEngine("local", {
    info: engineInfoSchema.parse({ ...INFO, ...info }),
    version: engineVersionSchema.parse({ ...VERSION, ...version }),
  });
}

describe("describeEngine", () => {
  it("names what is in force and what is only watched", () => {
    const { isolation, quota, warnings, version } = facts();
    expect(version).toBe("28.1.0");
    expect(isolation).toEqual([
      "non-root-uids",
      "no-capabilities",
      "no-new-privileges",
      "read-only-root",
      "network-none",
      "private-ipc",
      "seccomp",
      "memory-limit",
      "pids-limit",
      "cpu-limit",
    ]);
    expect(quota).toBe("watchdog");
    expect(warnings).toEqual([expect.stringContaining("Disk quotas are watched")]);
  });

  it("names AppArmor only where the engine has it", () => {
    expect(facts().isolation).not.toContain("apparmor");
    expect(facts({ SecurityOptions: ["name=apparmor", "name=seccomp"] }).isolation).toContain("apparmor");
  });

  it("warns of every control that the host does not enforce", () => {
    const { isolation, warnings } = facts({
      SecurityOptions: null,
      MemoryLimit: false,
      PidsLimit: false,
      CpuCfsQuota: false,
    });
    expect(isolation).not.toContain("seccomp");
    expect(warnings.join(" ")).toMatch(/seccomp.*memory-limit.*pids-limit.*cpu-limit/);
  });

  it("warns of a runtime without the fixes of late 2025, and of none it does not know", () => {
    const old = { Components: [{ Name: "runc", Version: "1.1.5+ds1" }] };
    expect(facts({}, old).warnings.join(" ")).toContain("runc 1.1.5+ds1 is older than 1.2.8");
    expect(facts({}, { Components: null }).warnings).toHaveLength(1);
  });
});

describe("hasRaceFixes", () => {
  it.each([
    ["1.1.5+ds1", false],
    ["1.2.7", false],
    ["1.2.8", true],
    ["1.3.2", false],
    ["v1.3.3", true],
    ["1.4.0", true],
    ["0.9.1", false],
    ["2.0.0", true],
    ["unknown", true],
  ])("knows whether runc %s has them: %s", (version, has) => {
    expect(hasRaceFixes(version)).toBe(has);
  });
});
