import { describe, expect, it } from "vitest";
import { readProbeReport } from "../../../../src/adapters/docker/probe-report.js";
import { REPORT } from "./a-report.js";

const changed = (change: object): string => JSON.stringify({ ...REPORT, ...change });

describe("readProbeReport", () => {
  it("reads what the helper says, and leaves out what it does not know", () => {
    expect(readProbeReport(`${changed({ more: "x" })}\n`)).toEqual(REPORT);
    expect(readProbeReport(changed({ reaped: null, first_uid: -1 }))).toMatchObject({ reaped: null });
  });

  it.each([
    "",
    "null",
    "[]",
    "OCI runtime exec failed",
    `${changed({})}${changed({})}`,
    changed({ probe: 2 }),
    changed({ uid: -5 }),
    changed({ uid: "0" }),
    changed({ capabilities: "0x0" }),
    changed({ capabilities: "0".repeat(17) }),
    changed({ seccomp: null }),
    changed({ interfaces: Array.from({ length: 65 }, () => "lo") }),
    changed({ interfaces: ["lo\u001b[2J"] }),
    changed({ env: ["x".repeat(65)] }),
    changed({ calls: { ...REPORT.calls, ptrace: "not permitted" } }),
    changed({ calls: {} }),
    changed({ cgroup: { ...REPORT.cgroup, memory: -2 } }),
    changed({ reaped: "true" }),
  ])("takes nothing else for a report: %s", (text) => {
    expect(() => readProbeReport(text)).toThrow("The self-check gave a report that cannot be read.");
  });
});
