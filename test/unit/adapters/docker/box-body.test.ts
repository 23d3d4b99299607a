import { describe, expect, it } from "vitest";
import { makeBoxBody } from "../../../../src/adapters/docker/box-body.js";
import { makePreparationBody } from "../../../../src/adapters/docker/preparation-body.js";
import { resolveBoxSettings } from "../../../../src/box/box-policy.js";
import type { BoxSettings } from "../../../../src/domain/box.js";
import { textLike } from "../../../support/text-like.js";

const SETTINGS = resolveBoxSettings("default", {
  image: "berth-box:full",
  cpus: 0.5,
  pidsLimit: 64,
  workspaceQuotaMb: 200,
});
const PLACE = { sessionId: "ses_1", tenant: "acme", uid: 30_001, volume: "vol", container: "box" } as const;

function body(settings: Partial<BoxSettings> = {}) {
  return makeBoxBody({
    serviceId: "svc",
    place: PLACE,
    settings: { ...SETTINGS, ...settings },
    seccomp: "{}",
  });
}

function print(settings: Partial<BoxSettings>) {
  return body(settings).Labels["berth.settings"];
}

describe("makeBoxBody", () => {
  it("builds exactly the body of security §3.2", () => {
    const { Labels: labels, ...rest } = body();
    expect(rest).toEqual({
      Image: "berth-box:full",
      User: "20000:20000",
      WorkingDir: "/",
      Entrypoint: ["sleep", "infinity"],
      Cmd: [],
      Env: [],
      Tty: false,
      OpenStdin: false,
      StopTimeout: 1,
      Hostname: "box",
      Healthcheck: { Test: ["NONE"] },
      HostConfig: {
        NetworkMode: "none",
        Init: true,
        CapDrop: ["ALL"],
        Privileged: false,
        SecurityOpt: ["no-new-privileges:true", "seccomp={}"],
        CgroupnsMode: "private",
        IpcMode: "private",
        PidMode: "",
        UTSMode: "",
        UsernsMode: "",
        OomScoreAdj: 500,
        OomKillDisable: false,
        LogConfig: { Type: "none" },
        RestartPolicy: { Name: "no" },
        AutoRemove: false,
        Mounts: [
          {
            Type: "volume",
            Source: "vol",
            Target: "/workspace",
            ReadOnly: false,
            VolumeOptions: { NoCopy: true },
          },
        ],
        ReadonlyRootfs: true,
        Tmpfs: { "/tmp": "rw,nosuid,nodev,exec,size=64m,nr_inodes=16384,mode=1777" },
        ShmSize: 16_777_216,
        PidsLimit: 64,
        Memory: 536_870_912,
        MemorySwap: 536_870_912,
        NanoCpus: 500_000_000,
        CpuShares: 256,
        Ulimits: [
          { Name: "nofile", Soft: 1024, Hard: 4096 },
          { Name: "core", Soft: 0, Hard: 0 },
          { Name: "fsize", Soft: 209_715_200, Hard: 209_715_200 },
        ],
      },
    });
    expect(labels).toEqual({
      "berth.service": "svc",
      "berth.session": "ses_1",
      "berth.tenant": textLike(/^[0-9a-f]{32}$/),
      "berth.uid": "30001",
      "berth.quota_mb": "200",
      "berth.settings": textLike(/^[0-9a-f]{64}$/),
    });
  });

  it("keeps files below the quota, and below 1 GiB without one", () => {
    const limits = [0, 512, 5000].map((workspaceQuotaMb) =>
      JSON.stringify(body({ workspaceQuotaMb }).HostConfig),
    );
    expect(limits[0]).toContain('"fsize","Soft":1073741824');
    expect(limits[1]).toContain('"fsize","Soft":536870912');
    expect(limits[2]).toContain('"fsize","Soft":1073741824');
  });

  it("keeps all file systems in memory below the memory limit, and /tmp of a writable root in memory", () => {
    const host = JSON.stringify(body({ memoryMb: 32, readOnlyRootfs: false }).HostConfig);
    expect(host).toContain('"ReadonlyRootfs":false');
    expect(host).toContain('"/tmp":"rw,nosuid,nodev,exec,size=8m');
    expect(host).toContain('"/var/tmp":"rw,nosuid,nodev,exec,size=4m');
    expect(host).toContain('"/run/lock":"rw,nosuid,nodev,exec,size=1m');
    expect(host).toContain('"ShmSize":2097152');
  });

  it("mounts a read-only workspace read-only", () => {
    expect(JSON.stringify(body({ workspaceMode: "ro" }).HostConfig)).toContain('"ReadOnly":true');
  });

  it("has another fingerprint for other limits, and the same for other time limits of commands", () => {
    expect(print({ memoryMb: 256 })).not.toBe(print({}));
    expect(print({ workspaceQuotaMb: 2000 })).not.toBe(print({ workspaceQuotaMb: 3000 }));
    expect(print({ execTimeoutSec: 5 })).toBe(print({}));
  });
});

describe("what an operator adds to a box", () => {
  const extraMounts = [
    { source: "/srv/data", target: "/data", readOnly: true },
    { source: "/srv/drop", target: "/drop", readOnly: false },
  ];

  it("is mounted beside the workspace, read-only unless said otherwise, cut off from the host's later mounts", () => {
    const { HostConfig: host } = body({ extraMounts });
    const mount = { Type: "bind", BindOptions: { Propagation: "rprivate" } };
    expect(host).toMatchObject({
      Mounts: [
        { Target: "/workspace" },
        { ...mount, Source: "/srv/data", Target: "/data", ReadOnly: true },
        { ...mount, Source: "/srv/drop", Target: "/drop", ReadOnly: false },
      ],
    });
    expect(print({ extraMounts })).not.toBe(print({}));
    expect(print({ extraMounts })).not.toBe(print({ extraMounts: extraMounts.slice(1) }));
  });

  it("is the runtime of the box and of its preparation, or nothing, so that the engine chooses", () => {
    const settings = { ...SETTINGS, runtime: "runsc", extraMounts };
    const preparation = makePreparationBody({ serviceId: "svc", place: PLACE, settings, seccomp: "{}" });
    expect(body({ runtime: "runsc" }).HostConfig).toMatchObject({ Runtime: "runsc" });
    expect(preparation.HostConfig).toMatchObject({ Runtime: "runsc", Mounts: [{ Target: "/workspace" }] });
    expect(body().HostConfig).not.toHaveProperty("Runtime");
    expect(print({ runtime: "runsc" })).not.toBe(print({}));
  });

  it("is no variable of the container: those belong to each command", () => {
    expect(body({ env: { TOKEN: "canary" } }).Env).toEqual([]);
    expect(print({ env: { TOKEN: "canary" } })).toBe(print({}));
  });
});

describe("makePreparationBody", () => {
  it("gives root three capabilities, the new volume and nothing else, and the uid as a value", () => {
    const { Entrypoint: entrypoint, ...made } = makePreparationBody({
      serviceId: "svc",
      place: PLACE,
      settings: SETTINGS,
      seccomp: "{}",
    });
    expect(made.User).toBe("0:0");
    expect(made.HostConfig).toMatchObject({
      CapDrop: ["ALL"],
      CapAdd: ["CHOWN", "DAC_OVERRIDE", "FOWNER"],
      NetworkMode: "none",
      ReadonlyRootfs: true,
      SecurityOpt: ["no-new-privileges:true", "seccomp={}"],
      Mounts: [{ Source: "vol", Target: "/workspace" }],
    });
    expect(entrypoint.slice(0, 2)).toEqual(["/bin/sh", "-c"]);
    expect(entrypoint.slice(3)).toEqual(["prepare", "30001", "", ""]);
    expect(entrypoint[2]).not.toContain("30001");
    expect(made.Labels).toMatchObject({
      "berth.service": "svc",
      "berth.uid": "30001",
      "berth.purpose": "preparation",
    });
  });

  it("is told what it has to see of a volume that the kernel bounds", () => {
    const of = { serviceId: "svc", place: PLACE, settings: SETTINGS, seccomp: "{}" };
    const loop = makePreparationBody({ ...of, check: { device: 1792, maxBytes: 1000 } });
    expect(loop.Entrypoint.slice(3)).toEqual(["prepare", "30001", "1792", "1000"]);
  });
});
