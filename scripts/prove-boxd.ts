/**
 * Proves and measures boxd in a real box, made as the service makes one (design §2, security §6, §11). ROUNDS says how
 * often each kind of command is killed. Needs the images berth-box:slim and berth-boxd:latest, and python3.
 */

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import Docker from "dockerode";
import { z } from "zod";
import { makeBoxBody } from "../src/adapters/docker/box-body.js";
import { makePreparationBody } from "../src/adapters/docker/preparation-body.js";
import { makeSeccompProfile } from "../src/adapters/docker/seccomp-profile.js";
import { resolveBoxSettings } from "../src/box/box-policy.js";

const socketPath = process.env["DOCKER_SOCKET"] ?? "/var/run/docker.sock";
const PROOF = new URL("../box-image/boxd/test/prove_in_box.py", import.meta.url).pathname;
const HELPER_PLACE = "/opt/berth";

const settings = resolveBoxSettings("default", { image: "berth-box:slim" });

const mountsSchema = z.object({ Mounts: z.array(z.looseObject({ Target: z.string() })) });

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

/** The bodies of the preparation and of a box as they are, the latter with the helper in it and as its first process. */
function makeBodies(): string {
  const body = makeBoxBody(input);
  const mount = {
    Type: "volume",
    Source: volumes.helper,
    Target: HELPER_PLACE,
    ReadOnly: true,
    VolumeOptions: { NoCopy: true },
  };
  const given = mountsSchema.parse(body.HostConfig).Mounts.filter(({ Target }) => Target !== HELPER_PLACE);
  const box = {
    ...body,
    Entrypoint: [`${HELPER_PLACE}/boxd`, "hold"],
    HostConfig: { ...body.HostConfig, Mounts: [...given, mount] },
  };
  return JSON.stringify({ preparation: makePreparationBody(input), box });
}

try {
  for (const volume of Object.values(volumes))
    await docker.createVolume({ Name: volume, Labels: { "berth.service": name } });
  await fillHelperVolume();
  const proof = spawn("python3", ["-B", PROOF], { stdio: ["pipe", "inherit", "inherit"] });
  proof.stdin.end(makeBodies());
  process.exitCode = await new Promise<number>((resolve) => {
    proof.on("close", (code) => resolve(code ?? 1));
  });
} finally {
  for (const volume of Object.values(volumes)) await docker.getVolume(volume).remove({ force: true });
}
