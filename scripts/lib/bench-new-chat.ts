/**
 * The first command of a new chat, by the whole way that a message takes: a box service composed as the product composes
 * it, with boxes ready in its pool, takes over one of them; beside volume, container, start and exec by the engine's API
 * with the same image and limits.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type Docker from "dockerode";
import type { BoxLease } from "../../src/box/box-lease.js";
import type { BoxService } from "../../src/box/box-service.js";
import { plainReuseKey } from "../../src/box/reuse-key.js";
import { buildBackend, buildBoxes } from "../../src/compose/build-boxes.js";
import { toBoxSettings } from "../../src/compose/feature-settings.js";
import { openBase } from "../../src/compose/open-base.js";
import { loadConfig } from "../../src/config/load-config.js";
import type { BoxSettings } from "../../src/domain/box.js";
import { CleanupStack } from "../../src/lib/cleanup-stack.js";
import type { BoxBackend } from "../../src/ports/box-backend.js";
import { FOREVER, IMAGE, run } from "./bench-engine.js";
import { engineExec } from "./bench-exec.js";
import type { Compare } from "./bench-life.js";

const ROUNDS = 20;
const LOOK_MS = 50;
/** What the engine and the kernel do after a box was made is over by then. */
const SETTLE_MS = 1000;
const MIB = 1024 * 1024;
const UID = 36_000;
const TENANT = "main";

interface ComposedBoxes {
  readonly boxes: BoxService;
  readonly settings: BoxSettings;
}

/** Everything it makes is removed with `life`. */
async function composeBoxes(life: CleanupStack): Promise<ComposedBoxes> {
  const directory = await mkdtemp(join(tmpdir(), "berth-bench-"));
  life.defer(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, "berth.yaml");
  await writeFile(file, JSON.stringify({ boxes: { image: IMAGE, warm_pool: 1 } }));
  const loaded = loadConfig({ environment: {}, workingDirectory: directory, file });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  const { config } = loaded;
  const base = await openBase(config, { write: () => undefined }, life);
  const backend = life.use(buildBackend(config, base));
  life.defer(() => removeAll(backend));
  const boxes = life.use(buildBoxes(config, base, { backend, grants: undefined }));
  await boxes.start(FOREVER);
  return { boxes, settings: toBoxSettings(config) };
}

async function removeAll(backend: BoxBackend): Promise<void> {
  const { containers, volumes } = await backend.listOwned(FOREVER);
  for (const { name } of containers) await backend.removeContainer(name, FOREVER);
  for (const volume of volumes) await backend.removeWorkspace(volume, FOREVER);
}

export async function benchNewChat(docker: Docker, compare: Compare): Promise<void> {
  await using life = new CleanupStack();
  const { boxes, settings } = await composeBoxes(life);
  let chats = 0;
  let lease: BoxLease | null = null;
  const made: { container: Docker.Container | null; volume: string } = { container: null, volume: "" };
  await compare(
    "first exec of a new chat",
    {
      "berth, from pool": {
        before: async () => untilSpare(boxes),
        work: async () => {
          chats += 1;
          const key = plainReuseKey(`bench-${chats}`, TENANT);
          const session = await boxes.findOrCreateSession(TENANT, key, FOREVER);
          lease = await boxes.bind(session, `run_${chats}`, FOREVER);
          await run(lease.handle, ["true"]);
        },
        after: async () => {
          await lease?.[Symbol.asyncDispose]();
          if (lease !== null) await boxes.removeSession(TENANT, lease.session.id, FOREVER);
        },
      },
      "engine, box made": {
        before: async () => untilSpare(boxes),
        work: async () => {
          made.volume = `berth-bench-${process.pid}-${(chats += 1)}`;
          await docker.createVolume({ Name: made.volume });
          made.container = await docker.createContainer(containerBody(settings, made.volume));
          await made.container.start();
          await engineExec(made.container, ["true"], UID);
        },
        after: async () => {
          await made.container?.remove({ force: true, v: true });
          await docker.getVolume(made.volume).remove();
        },
      },
    },
    ROUNDS,
  );
}

/** Neither way pays for a box that the pool makes meanwhile. */
async function untilSpare(boxes: BoxService): Promise<void> {
  while (boxes.spareCount === 0) await delay(LOOK_MS);
  await delay(SETTLE_MS);
}

function containerBody(settings: BoxSettings, volume: string): Docker.ContainerCreateOptions {
  return {
    Image: IMAGE,
    Entrypoint: ["sleep", "infinity"],
    HostConfig: {
      NetworkMode: "none",
      Init: true,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges:true"],
      Mounts: [{ Type: "volume", Source: volume, Target: "/workspace" }],
      ReadonlyRootfs: settings.readOnlyRootfs,
      Tmpfs: { "/tmp": "rw,nosuid,nodev,exec,size=64m" },
      PidsLimit: settings.pidsLimit,
      Memory: settings.memoryMb * MIB,
      MemorySwap: settings.memoryMb * MIB,
      NanoCpus: Math.round(settings.cpus * 1e9),
    },
  };
}
