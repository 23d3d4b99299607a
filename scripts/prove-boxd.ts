/**
 * Proves and measures boxd in a real box, made as the service makes one (design §2, security §6, §11). ROUNDS says how
 * often each kind of command is killed. Needs the images berth-box:slim and berth-boxd:latest, and python3.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import Docker from "dockerode";
import { makeBoxBody, makePreparationBody } from "../src/adapters/docker/container-body.js";
import { makeSeccompProfile } from "../src/adapters/docker/seccomp-profile.js";
import type { BoxSettings } from "../src/domain/box.js";

const socketPath = process.env["DOCKER_SOCKET"] ?? "/var/run/docker.sock";
const PROOF = new URL("../box-image/boxd/test/prove_in_box.py", import.meta.url).pathname;
const HELPER_PLACE = "/opt/berth";

const settings: BoxSettings = {
  image: "berth-box:slim",
  cpus: 1,
  memoryMb: 512,
  pidsLimit: 128,
  readOnlyRootfs: true,
  network: "none",
  workspaceMode: "rw",
  workspaceQuotaMb: 1024,
  execTimeoutSec: 30,
  execMaxTimeoutSec: 120,
};

const docker = new Docker({ socketPath });
const name = `prove-boxd-${randomBytes(6).toString("hex")}`;
const volumes = { workspace: `${name}-workspace`, helper: `${name}-helper` };
const place = {
  sessionId: `ses_${name}` as const,
  tenant: "main",
  uid: 39_000,
  volume: volumes.workspace,
  container: `${name}-box`,
};
const input = { serviceId: name, place, settings, seccomp: JSON.stringify(makeSeccompProfile()) };

/** The engine copies what an image has at the place of an empty volume into it when it makes a container. */
async function fillHelperVolume(): Promise<void> {
  const container = await docker.createContainer({
    Image: "berth-boxd:latest",
    Labels: { "berth.service": name },
    HostConfig: {
      NetworkMode: "none",
      Mounts: [{ Type: "volume", Source: volumes.helper, Target: HELPER_PLACE }],
    },
  });
  await container.remove();
}

async function prepareWorkspace(): Promise<void> {
  const body = makePreparationBody(input);
  const container = await docker.createContainer(JSON.parse(JSON.stringify(body)));
  await container.start();
  await container.wait();
  await container.remove();
}

/** The body of a box as it is, with the helper in it and as its first process. */
function makeBody(): string {
  const body = makeBoxBody(input);
  const mount = {
    Type: "volume",
    Source: volumes.helper,
    Target: HELPER_PLACE,
    ReadOnly: true,
    VolumeOptions: { NoCopy: true },
  };
  const given =
    "Mounts" in body.HostConfig && Array.isArray(body.HostConfig.Mounts) ? body.HostConfig.Mounts : [];
  const mounts: readonly unknown[] = [
    ...given.filter((one: { readonly Target?: string }) => one.Target !== HELPER_PLACE),
    mount,
  ];
  return JSON.stringify({
    ...body,
    Entrypoint: [`${HELPER_PLACE}/boxd`, "hold"],
    HostConfig: { ...body.HostConfig, Mounts: mounts },
  });
}

try {
  for (const volume of Object.values(volumes))
    await docker.createVolume({ Name: volume, Labels: { "berth.service": name } });
  await fillHelperVolume();
  await prepareWorkspace();
  const proof = spawn("python3", ["-B", PROOF], { stdio: ["pipe", "inherit", "inherit"] });
  proof.stdin.end(makeBody());
  const [code]: unknown[] = await once(proof, "close");
  process.exitCode = typeof code === "number" ? code : 1;
} finally {
  for (const volume of Object.values(volumes)) await docker.getVolume(volume).remove({ force: true });
}
