import { describe, expect, it } from "vitest";
import { z } from "zod";
import { makeSeccompProfile } from "../../../../src/adapters/docker/seccomp-profile.js";

const profile = z
  .object({
    defaultAction: z.string(),
    syscalls: z.array(
      z.object({
        names: z.array(z.string()),
        action: z.string(),
        errnoRet: z.number().optional(),
        args: z.unknown().optional(),
      }),
    ),
  })
  .parse(makeSeccompProfile());
const plain = new Set(
  profile.syscalls
    .filter(({ action, args }) => action === "SCMP_ACT_ALLOW" && args === undefined)
    .flatMap(({ names }) => names),
);

describe("makeSeccompProfile", () => {
  it("refuses what it does not name", () => {
    expect(profile.defaultAction).toBe("SCMP_ACT_ERRNO");
    expect(JSON.stringify(profile).length).toBeLessThan(8000);
  });

  it.each(["io_uring_setup", "clone3"])("says that %s is not there, so that libraries do without", (name) => {
    const rule = profile.syscalls.find(({ names }) => names.includes(name));
    expect(rule).toMatchObject({ action: "SCMP_ACT_ERRNO", errnoRet: 38 });
  });

  it.each([
    "ptrace",
    "process_vm_readv",
    "mount",
    "umount2",
    "unshare",
    "setns",
    "bpf",
    "userfaultfd",
    "perf_event_open",
    "keyctl",
    "add_key",
    "kexec_load",
    "init_module",
    "open_by_handle_at",
    "name_to_handle_at",
    "quotactl",
    "modify_ldt",
    "pivot_root",
    "chroot",
    "swapon",
    "reboot",
    "socket",
    "clone",
    "ioctl",
    "personality",
  ])("never allows %s whatever its arguments", (name) => {
    expect(plain.has(name)).toBe(false);
  });

  it("allows sockets of three families and route queries, and no new namespaces", () => {
    const rules = profile.syscalls.filter(({ names }) => names.includes("socket") || names.includes("clone"));
    expect(rules.map(({ args }) => args)).toEqual([
      [{ index: 0, value: 0x7e020000, valueTwo: 0, op: "SCMP_CMP_MASKED_EQ" }],
      [{ index: 0, value: 1, op: "SCMP_CMP_EQ" }],
      [{ index: 0, value: 2, op: "SCMP_CMP_EQ" }],
      [{ index: 0, value: 10, op: "SCMP_CMP_EQ" }],
      [
        { index: 0, value: 16, op: "SCMP_CMP_EQ" },
        { index: 2, value: 0, op: "SCMP_CMP_EQ" },
      ],
    ]);
  });

  it("names every call once", () => {
    const names = profile.syscalls.filter(({ args }) => args === undefined).flatMap((rule) => rule.names);
    expect(new Set(names).size).toBe(names.length);
  });
});
