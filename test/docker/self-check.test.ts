/** What the self-check sees in a box as all are made, and in one that is made as weak as an engine allows. */
import { randomBytes } from "node:crypto";
import type Docker from "dockerode";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { makeBoxBody } from "../../src/adapters/docker/box-body.js";
import { ExecChannel } from "../../src/adapters/docker/exec-channel.js";
import { judgeProbe } from "../../src/adapters/docker/judge-probe.js";
import { readProbeReport } from "../../src/adapters/docker/probe-report.js";
import type { BoxControl, ControlName } from "../../src/domain/box-control.js";
import { ENGINE_SETTINGS, FOREVER, HELPER_IMAGE, hasEngine, TestEngine } from "../support/engine.js";
import { chatMessage, serviceForAll } from "../support/shared-service.js";

/** These depend on the host. */
const OF_THE_HOST: ReadonlySet<ControlName> = new Set(["workspace-quota", "apparmor", "selinux"]);
const WEAK_UID = 0;

const named = (controls: readonly BoxControl[], state: BoxControl["state"]): readonly ControlName[] =>
  controls.filter((control) => control.state === state).map(({ name }) => name);

describe.skipIf(!hasEngine())("the self-check on a Docker engine", () => {
  it("finds in a box as all are made every control that does not depend on the host", async () => {
    await using engine = new TestEngine();
    const controls = await engine.backend.selfCheck(ENGINE_SETTINGS, FOREVER);
    const ours = controls.filter(({ name }) => !OF_THE_HOST.has(name));
    expect(ours.filter(({ state }) => state !== "enforced")).toEqual([]);
    expect(ours).toHaveLength(21);
  });

  it("sees each control that a body of another making lacks", async () => {
    await using engine = new TestEngine();
    const controls = judgeProbe(await probeWeakBox(engine), {
      settings: ENGINE_SETTINGS,
      uid: 35_001,
      modules: new Set(["seccomp"]),
    });
    expect(named(controls, "enforced")).toEqual([]);
    expect(named(controls, "unknown")).toEqual([]);
    expect(named(controls, "ignored")).toHaveLength(23);
  });

  it("says of a box without helper that nobody could look", async () => {
    await using engine = new TestEngine("engine");
    const controls = await engine.backend.selfCheck(ENGINE_SETTINGS, FOREVER);
    expect(named(controls, "unknown")).toHaveLength(controls.length);
  });

  it("takes a runtime that passes, and none that the engine has not", async () => {
    await using engine = new TestEngine();
    const controls = await engine.backend.selfCheck({ ...ENGINE_SETTINGS, runtime: "runc" }, FOREVER);
    expect(named(controls, "enforced")).toContain("no-capabilities");
    await expect(
      engine.backend.selfCheck({ ...ENGINE_SETTINGS, runtime: "no-such" }, FOREVER),
    ).rejects.toMatchObject({ code: "box.readiness", message: 'The engine has no runtime "no-such".' });
  });
});

describe.skipIf(!hasEngine())("a service whose runtime the engine has not", () => {
  const service = serviceForAll({ boxes: { runtime: "no-such" } });

  it("hands out no box and says why", async () => {
    const reason = 'The runtime "no-such" failed its test: The engine has no runtime "no-such".';
    const status: unknown = await (await service().fetch("/v1/boxes/status")).json();
    expect(status).toMatchObject({ enabled: true, available: false, reason, limit: null, isolation: [] });
    const run = await service().send(chatMessage("1", "hello"));
    expect(run).toMatchObject({ status: "failed", error: { code: "box.readiness", message: reason } });
    expect(await service().containers()).toEqual([]);
    expect(service().takeTroubles()).toHaveLength(2);
  });
});

/** With the helper's volume and nothing else of what makes a box. */
async function probeWeakBox(engine: TestEngine): Promise<ReturnType<typeof readProbeReport>> {
  const place = engine.newPlace();
  await engine.backend.prepareWorkspace(place, ENGINE_SETTINGS, FOREVER);
  const [volume] = await helperVolumes(engine);
  const { HostConfig: host, ...body } = makeBoxBody({
    serviceId: engine.serviceId,
    place,
    settings: { ...ENGINE_SETTINGS, workspaceMode: "ro" },
    seccomp: "",
    helper: { volume: volume ?? "", version: "x" },
  });
  const weak = {
    ...body,
    name: `berth-test-weak-${randomBytes(4).toString("hex")}`,
    User: `${WEAK_UID}:${WEAK_UID}`,
    Entrypoint: ["sleep", "infinity"],
    HostConfig: {
      Mounts: [
        ...mountsSchema.parse(host).Mounts,
        { Type: "bind", Source: "/dev/null", Target: "/run/docker.sock" },
      ],
      NetworkMode: "bridge",
      Init: false,
      CapAdd: ["SYS_ADMIN", "SYS_PTRACE"],
      SecurityOpt: ["seccomp=unconfined", "apparmor=unconfined"],
      CgroupnsMode: "host",
      ShmSize: 1024 * 1024,
      ReadonlyPaths: [],
      Devices: [{ PathOnHost: "/dev/null", PathInContainer: "/dev/extra", CgroupPermissions: "r" }],
      Memory: 512 * 1024 * 1024,
    },
  };
  const container = await engine.docker.createContainer(asOptions(weak));
  try {
    await container.start();
    return readProbeReport(await runProbe(container));
  } finally {
    await container.remove({ force: true });
  }
}

const mountsSchema = z.object({ Mounts: z.array(z.looseObject({})) });

async function helperVolumes(engine: TestEngine): Promise<readonly string[]> {
  const { Id: id } = await engine.docker.getImage(HELPER_IMAGE).inspect();
  await engine.backend.selfCheck(ENGINE_SETTINGS, FOREVER);
  return [`berth-boxd-${id.replace("sha256:", "").slice(0, 16)}`];
}

async function runProbe(container: Docker.Container): Promise<string> {
  const exec = await container.exec({
    Cmd: ["/opt/berth/boxd", "probe"],
    Env: ["BERTH_API_KEY=canary"],
    AttachStdout: true,
    AttachStderr: true,
  });
  await using channel = new ExecChannel(await exec.start({ hijack: true, stdin: false }));
  const pieces: Uint8Array[] = [];
  for await (const bytes of channel.bytes) pieces.push(bytes);
  return Buffer.concat(pieces).toString();
}

/** The types of the library want arrays that can be changed. */
function asOptions(body: object): Docker.ContainerCreateOptions {
  const copy: unknown = structuredClone(body);
  return z.custom<Docker.ContainerCreateOptions>().parse(copy);
}
