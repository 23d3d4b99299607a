import { describe, expect, it } from "vitest";
import { judgeProbe, unknownControls } from "../../../../src/adapters/docker/judge-probe.js";
import type { ProbeReport } from "../../../../src/adapters/docker/probe-report.js";
import { resolveBoxSettings } from "../../../../src/box/box-policy.js";
import type { BoxSettings } from "../../../../src/domain/box.js";
import type { ControlName } from "../../../../src/domain/box-control.js";
import { REPORT } from "./a-report.js";

const SETTINGS = resolveBoxSettings("default", { image: "berth-box:slim", memoryMb: 256 });
const NO_LIMIT = 2 ** 63;

function judge(
  change: Partial<ProbeReport> = {},
  settings: Partial<BoxSettings> = {},
  modules = ["seccomp", "apparmor"],
) {
  return judgeProbe(
    { ...REPORT, ...change },
    { settings: { ...SETTINGS, ...settings }, uid: 35_001, modules: new Set(modules) },
  );
}

/** `state: detail` of one control; null = it has no entry. */
function verdict(name: ControlName, ...input: Parameters<typeof judge>): string | null {
  const control = judge(...input).find((one) => one.name === name);
  return control === undefined ? null : `${control.state}: ${control.detail}`;
}

const calls = (change: Partial<ProbeReport["calls"]>) => ({ calls: { ...REPORT.calls, ...change } });
const cgroup = (change: Partial<ProbeReport["cgroup"]>) => ({ cgroup: { ...REPORT.cgroup, ...change } });
const limits = (change: Partial<ProbeReport["limits"]>) => ({ limits: { ...REPORT.limits, ...change } });
const workspace = (change: Partial<ProbeReport["workspace"]>) => ({
  workspace: { ...REPORT.workspace, ...change },
});

describe("judgeProbe", () => {
  it("finds every control of a box as it has to be", () => {
    expect(judge().filter(({ state }) => state !== "enforced")).toEqual([]);
    expect(judge()).toHaveLength(23);
  });

  it.each<[ControlName, Partial<ProbeReport>, string]>([
    ["non-root-uids", { first_uid: 0 }, "ignored: first process 0, commands 35001:35001"],
    ["non-root-uids", { uid: 0 }, "ignored: first process 20000, commands 0:35001"],
    ["non-root-uids", { gid: 0 }, "ignored: first process 20000, commands 35001:0"],
    ["non-root-uids", { first_uid: 35_001 }, "ignored: first process 35001, commands 35001:35001"],
    ["non-root-uids", { first_uid: -1 }, "unknown: first process -1, commands 35001:35001"],
    ["non-root-uids", { first_uid: -1, uid: 0 }, "ignored: first process -1, commands 0:35001"],
    ["no-capabilities", { capabilities: "1fffffffff" }, "ignored: capabilities 1fffffffff"],
    ["no-capabilities", { capabilities: "20" }, "ignored: capabilities 20"],
    ["no-new-privileges", { no_new_privileges: 0 }, "ignored: no_new_privs is 0"],
    ["no-new-privileges", { no_new_privileges: -1 }, "unknown: no_new_privs is -1"],
    ["seccomp", { seccomp: 0 }, "ignored: seccomp mode 0"],
    ["seccomp", { seccomp: -1 }, "unknown: seccomp mode -1"],
    [
      "refused-calls",
      calls({ ptrace: "allowed", vsock: "EINVAL" }),
      "ignored: vsock: EINVAL, ptrace: allowed",
    ],
    ["refused-calls", calls({ unshare: "unknown" }), "unknown: unshare: unknown"],
    [
      "refused-calls",
      calls({ unshare: "unknown", mount: "allowed" }),
      "ignored: mount: allowed, unshare: unknown",
    ],
    ["refused-calls", calls({ io_uring_setup: "EPERM", vsock: "EAFNOSUPPORT" }), "enforced: all are refused"],
    ["network-none", { interfaces: ["lo", "eth0"] }, "ignored: interfaces lo, eth0"],
    ["network-none", { interfaces: ["lofty"] }, "ignored: interfaces lofty"],
    ["network-none", { interfaces: [] }, "enforced: interfaces "],
    ["network-none", { interfaces: ["unknown"] }, "unknown: interfaces unknown"],
    ["read-only-root", { root_read_only: false }, "ignored: writable"],
    ["kernel-settings-read-only", { kernel_settings_read_only: false }, "ignored: /proc/sys is writable"],
    [
      "private-ipc",
      { shared_memory: 25_276_063_744 },
      "ignored: 25276063744 bytes of shared memory, wanted 16777216",
    ],
    ["private-cgroup", cgroup({ private: false }), "ignored: the host's namespace"],
    ["no-devices", { devices: ["kvm", "loop0"] }, "ignored: kvm, loop0"],
    ["no-engine-socket", { engine_sockets: ["/run/docker.sock"] }, "ignored: /run/docker.sock"],
    ["clean-environment", { env: ["PATH", "OPENAI_API_KEY"] }, "ignored: OPENAI_API_KEY"],
    [
      "clean-environment",
      { env: ["GPG_KEY", "DOCKER_HOST", "BERTH_PORT"] },
      "ignored: DOCKER_HOST, BERTH_PORT",
    ],
    ["closed-first-process", calls({ first_process: "allowed" }), "ignored: opening its files: allowed"],
    ["closed-first-process", calls({ first_process: "ENOENT" }), "ignored: opening its files: ENOENT"],
    ["closed-first-process", calls({ first_process: "unknown" }), "unknown: opening its files: unknown"],
    ["init-reaps", { reaped: false }, "ignored: zombies stay"],
    ["init-reaps", { reaped: null }, "unknown: zombies stay"],
    ["workspace-mode", workspace({ read_only: true }), "ignored: it is read-only"],
    [
      "workspace-quota",
      workspace({ bytes: 270_553_579_520 }),
      "ignored: a file system of 258020 MiB, wanted 1024 MiB",
    ],
    ["workspace-quota", workspace({ apart: false }), "ignored: on the root's file system, wanted 1024 MiB"],
    ["workspace-quota", workspace({ bytes: 0 }), "unknown: a file system of 0 MiB, wanted 1024 MiB"],
    [
      "file-size-limit",
      limits({ file_bytes: NO_LIMIT }),
      "ignored: no limit of bytes of a file, wanted 1073741824",
    ],
    ["file-size-limit", limits({ file_bytes: -1 }), "unknown: -1 bytes of a file, wanted 1073741824"],
    ["file-size-limit", calls({ large_file: "allowed" }), "ignored: a larger file: allowed"],
    ["file-size-limit", calls({ large_file: "unknown" }), "unknown: a larger file: unknown"],
    ["open-file-limit", limits({ open_files: 1_048_576 }), "ignored: 1048576 open files, wanted 4096"],
    ["memory-limit", cgroup({ memory: NO_LIMIT }), "ignored: no limit of bytes of memory, wanted 268435456"],
    [
      "memory-limit",
      cgroup({ memory_and_swap: 536_870_912 }),
      "ignored: 536870912 bytes with swap, wanted 268435456",
    ],
    ["memory-limit", cgroup({ memory: -1 }), "unknown: -1 bytes of memory, wanted 268435456"],
    ["pids-limit", cgroup({ pids: NO_LIMIT }), "ignored: no limit of processes, wanted 128"],
    ["cpu-limit", cgroup({ cpu_quota: -1 }), "ignored: no limit, wanted 1"],
    ["cpu-limit", cgroup({ cpu_quota: NO_LIMIT }), "ignored: no limit, wanted 1"],
    ["cpu-limit", cgroup({ cpu_quota: 200_000 }), "ignored: 2.00 CPUs, wanted 1"],
    ["cpu-limit", cgroup({ cpu_period: -1 }), "unknown: its setting cannot be read"],
    ["apparmor", { security_label: "unconfined" }, "ignored: profile unconfined"],
    ["apparmor", { security_label: "" }, "ignored: no profile"],
  ])("says of %s what it sees in %j", (name, change, expected) => {
    expect(verdict(name, change)).toBe(expected);
  });

  it.each([
    [1, 13],
    [50, 54],
    [1024, 1045],
    [1_048_576, 1_053_800],
  ])("takes the file system that is made for a quota of %i MiB for one that bounds it", (quotaMib, mib) => {
    const seen = workspace({ bytes: mib * 1024 * 1024 });
    expect(verdict("workspace-quota", seen, { workspaceQuotaMb: quotaMib })).toBe(
      `enforced: a file system of ${mib} MiB`,
    );
  });

  it("asks for nothing that the settings do not ask for", () => {
    expect(verdict("read-only-root", {}, { readOnlyRootfs: false })).toBeNull();
    expect(verdict("workspace-quota", {}, { workspaceQuotaMb: 0 })).toBeNull();
    expect(verdict("workspace-mode", workspace({ read_only: true }), { workspaceMode: "ro" })).toBe(
      "enforced: it is read-only",
    );
    expect(verdict("clean-environment", { env: ["MY_API_KEY"] }, { env: { MY_API_KEY: "x" } })).toMatch(
      /^enforced/,
    );
  });

  it("says which security module holds the box, and that there is none", () => {
    expect(verdict("apparmor", {}, {}, ["seccomp"])).toBe("ignored: the engine's host has none in use");
    expect(verdict("selinux", {}, {}, ["seccomp"])).toBeNull();
    expect(verdict("apparmor", {}, {}, ["selinux"])).toBeNull();
    const label = "system_u:system_r:container_t:s0:c1,c2";
    expect(verdict("selinux", { security_label: label }, {}, ["selinux"])).toBe(`enforced: label ${label}`);
    expect(verdict("selinux", { security_label: "" }, {}, ["selinux"])).toBe("ignored: no label");
  });

  it("knows nothing of a box that nobody could look into", () => {
    expect(unknownControls("why").every(({ state, detail }) => state === "unknown" && detail === "why")).toBe(
      true,
    );
  });
});
