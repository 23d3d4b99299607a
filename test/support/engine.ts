/** What tests against a real engine share: a backend of their own, places nobody else uses, and nothing left behind. */

import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Docker from "dockerode";
import { inject } from "vitest";
import { BoxdHelper } from "../../src/adapters/boxd/boxd-helper.js";
import { DockerBoxBackend } from "../../src/adapters/docker/docker-box-backend.js";
import type { Reserve } from "../../src/adapters/docker/host-reserve.js";
import type { QuotaMode } from "../../src/adapters/docker/quota-probe.js";
import { LoopVolumes } from "../../src/adapters/loop-volumes/loop-volumes.js";
import { RandomIdSource } from "../../src/adapters/system/random-id-source.js";
import { SystemClock } from "../../src/adapters/system/system-clock.js";
import { resolveBoxSettings } from "../../src/box/box-policy.js";
import type { BoxSettings } from "../../src/domain/box.js";
import type { BoxBackend, BoxPlace } from "../../src/ports/box-backend.js";
import type { BoxHandle } from "../../src/ports/box-handle.js";
import type { BoxHelper } from "../../src/ports/box-helper.js";
import type { CallOptions } from "../../src/ports/options.js";
import { KeptLogger } from "../fakes/kept-logger.js";

export const ENGINE_SOCKET = process.env["DOCKER_SOCKET"] ?? "/var/run/docker.sock";
export const FOREVER: CallOptions = { signal: new AbortController().signal };

export const HELPER_IMAGE = "berth-boxd:latest";

/** Who serves the boxes of a test: the helper over a socket, as in the product, or over an exec stream, or workers. */
export type ServedBy = "helper" | "helper_by_exec" | "engine";

export interface TestQuota {
  readonly mode: QuotaMode;
  readonly entries: number;
  /** Null as for an engine on another machine; those of the test if not given. */
  readonly volumes?: null;
  readonly reserve?: Reserve;
}

interface Served {
  readonly helper: BoxHelper | null;
  readonly socketDirectory: string | null;
}

const BY_ENGINE: Served = { helper: null, socketDirectory: null };
const WATCHED: TestQuota = { mode: "watchdog", entries: 100_000 };

export const ENGINE_SETTINGS = resolveBoxSettings("default", { image: "berth-box:slim", memoryMb: 256 });

/** Tests of a real engine are skipped, and counted, where none answers. */
export function hasEngine(): boolean {
  return inject("dockerAvailable");
}

/** What this machine can do at best; tests of better quotas are skipped, and counted, where it cannot. */
export async function quotaInForce(): Promise<string> {
  await using engine = new TestEngine("engine", null, { mode: "auto", entries: 1000 });
  const limit = AbortSignal.timeout(30_000);
  for (;;) {
    const { quota, warnings } = await engine.backend.probe(FOREVER);
    if (limit.aborted || !warnings.some((text) => text.includes("still being tried"))) return quota;
  }
}

/** A service of its own on the engine; disposing removes everything that carries its label. */
export class TestEngine implements AsyncDisposable {
  readonly serviceId = `test-${randomBytes(6).toString("hex")}`;
  readonly docker = new Docker({ socketPath: ENGINE_SOCKET });
  readonly settings = ENGINE_SETTINGS;
  readonly logger = new KeptLogger();
  /** Short, because addresses of sockets are. */
  readonly socketDirectory = `/tmp/${this.serviceId}`;
  readonly backend: BoxBackend & AsyncDisposable;
  readonly volumes: LoopVolumes;
  /** What the service would keep below its data directory. */
  readonly directory = join(tmpdir(), `berth-${this.serviceId}`);
  #count = 0;

  /** @param helper stands in for the one that `servedBy` names */
  constructor(servedBy: ServedBy = "helper", helper?: BoxHelper | null, quota: TestQuota = WATCHED) {
    this.volumes = new LoopVolumes({ directory: join(this.directory, "workspaces") });
    const boxd = new BoxdHelper({ image: HELPER_IMAGE, clock: new SystemClock(), logger: this.logger });
    const socketDirectory = servedBy === "helper" ? this.socketDirectory : null;
    const served = { helper: servedBy === "engine" ? null : (helper ?? boxd), socketDirectory };
    this.backend = this.anotherBackend(quota, served);
  }

  /** Of the same service on the same engine; the caller disposes of it. */
  anotherBackend(quota: TestQuota, served: Served = BY_ENGINE): BoxBackend & AsyncDisposable {
    const { helper, socketDirectory } = served;
    return new DockerBoxBackend({
      connection: { socketPath: ENGINE_SOCKET },
      serviceId: this.serviceId,
      engine: "test",
      logger: this.logger,
      clock: new SystemClock(),
      ids: new RandomIdSource(),
      helper,
      socketDirectory,
      quota: { image: this.settings.image, volumes: this.volumes, ...quota },
    });
  }

  newPlace(): BoxPlace {
    this.#count += 1;
    const name = `${this.serviceId}-${this.#count}`;
    return {
      sessionId: `ses_${name}`,
      tenant: "main",
      uid: 30_001 + Math.floor(Math.random() * 5000),
      volume: `${name}-workspace`,
      container: `${name}-box`,
    };
  }

  /** A box that runs, and its handle. */
  async startBox(
    settings: Partial<BoxSettings> = {},
  ): Promise<{ readonly place: BoxPlace; readonly box: BoxHandle }> {
    const place = this.newPlace();
    const effective = { ...this.settings, ...settings };
    await this.backend.prepareWorkspace(place, effective, FOREVER);
    await this.backend.start(place, effective, FOREVER);
    return { place, box: await this.backend.open(place, FOREVER) };
  }

  /** Command lines of all processes in a container, as the engine sees them. */
  async processes(container: string): Promise<readonly string[]> {
    const top: unknown = await this.docker.getContainer(container).top({ ps_args: "-eo pid,stat,uid,args" });
    return readProcesses(top);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.backend[Symbol.asyncDispose]();
    const filters = { label: [`berth.service=${this.serviceId}`] };
    for (const { Id: id } of await this.docker.listContainers({ all: true, filters }))
      await this.docker.getContainer(id).remove({ force: true, v: true });
    const { Volumes: volumes } = await this.docker.listVolumes({ filters });
    for (const { Name: name } of volumes) await this.docker.getVolume(name).remove();
    for (const name of await this.volumes.list(FOREVER)) await this.volumes.remove(name, FOREVER);
    await rm(this.socketDirectory, { recursive: true, force: true });
    await rm(this.directory, { recursive: true, force: true });
  }
}

function readProcesses(top: unknown): readonly string[] {
  if (typeof top !== "object" || top === null || !("Processes" in top) || !Array.isArray(top.Processes))
    return [];
  return top.Processes.filter((row): row is string[] => Array.isArray(row)).map((row) =>
    row.slice(1).join(" "),
  );
}
