/** A service of its own on the engine for measurements; disposing removes everything it made. */

import { randomBytes } from "node:crypto";
import { setMaxListeners } from "node:events";
import { rm } from "node:fs/promises";
import Docker from "dockerode";
import { BoxdHelper } from "../../src/adapters/boxd/boxd-helper.js";
import { DockerBoxBackend } from "../../src/adapters/docker/docker-box-backend.js";
import { RandomIdSource } from "../../src/adapters/system/random-id-source.js";
import { SystemClock } from "../../src/adapters/system/system-clock.js";
import { resolveBoxSettings } from "../../src/box/box-policy.js";
import type { BoxSettings, ExecExit } from "../../src/domain/box.js";
import type { BoxPlace } from "../../src/ports/box-backend.js";
import type { BoxHandle } from "../../src/ports/box-handle.js";
import type { EgressBroker } from "../../src/ports/egress-broker.js";
import type { CallOptions } from "../../src/ports/options.js";

export const FOREVER: CallOptions = { signal: new AbortController().signal };
// Everything that is measured listens to it.
setMaxListeners(0, FOREVER.signal);
const PIECE_BYTES = 64 * 1024;
export const IMAGE = "berth-box:slim";

export class BenchEngine implements AsyncDisposable {
  readonly settings = resolveBoxSettings("default", { image: IMAGE, cpus: 2, memoryMb: 256 });
  readonly docker: Docker;
  readonly backend: DockerBoxBackend;
  readonly #serviceId = `bench-${randomBytes(6).toString("hex")}`;
  readonly #sockets = `/tmp/${this.#serviceId}`;
  readonly #troubles: string[] = [];
  #count = 0;

  /**
   * @param servedBy the helper, as in the product, or over exec streams only, or workers that the engine starts
   * @param broker carries what boxes with a network say
   */
  constructor(servedBy: "helper" | "helper_by_exec" | "engine" = "helper", broker?: EgressBroker) {
    const socketPath = process.env["DOCKER_SOCKET"] ?? "/var/run/docker.sock";
    const clock = new SystemClock();
    const note = (_fields: unknown, message: string): void => void this.#troubles.push(message);
    const logger = { error: note, warn: note, info: () => undefined, debug: () => undefined };
    this.docker = new Docker({ socketPath });
    this.backend = new DockerBoxBackend({
      connection: { socketPath },
      serviceId: this.#serviceId,
      engine: "bench",
      logger,
      clock,
      ids: new RandomIdSource(),
      helper:
        servedBy === "engine" ? null : new BoxdHelper({ image: "berth-boxd:latest", clock, logger, broker }),
      socketDirectory: servedBy === "helper" ? this.#sockets : null,
    });
  }

  /** Warnings; figures with some say little. */
  troubles(): readonly string[] {
    return this.#troubles;
  }

  async startBox(
    wanted: Partial<BoxSettings> = {},
  ): Promise<{ readonly place: BoxPlace; readonly box: BoxHandle }> {
    const settings = { ...this.settings, ...wanted };
    this.#count += 1;
    const name = `${this.#serviceId}-${this.#count}`;
    const place = {
      sessionId: `ses_${name}`,
      tenant: "bench",
      uid: 36_000 + this.#count,
      volume: `${name}-workspace`,
      container: `${name}-box`,
    } as const;
    await this.backend.prepareWorkspace(place, settings, FOREVER);
    await this.backend.start(place, settings, FOREVER);
    return { place, box: await this.backend.open(place, FOREVER) };
  }

  /** A container in which nothing of anybody's runs, for the engine's archive calls. */
  async stillContainer(): Promise<Docker.Container> {
    const container = await this.docker.createContainer({
      Image: IMAGE,
      Cmd: ["sleep", "infinity"],
      Labels: { "berth.service": this.#serviceId },
      HostConfig: { NetworkMode: "none", Init: true },
    });
    await container.start();
    return container;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.backend[Symbol.asyncDispose]();
    const filters = { label: [`berth.service=${this.#serviceId}`] };
    for (const { Id: id } of await this.docker.listContainers({ all: true, filters }))
      await this.docker.getContainer(id).remove({ force: true, v: true });
    const { Volumes: volumes } = await this.docker.listVolumes({ filters });
    for (const { Name: name } of volumes) await this.docker.getVolume(name).remove();
    await rm(this.#sockets, { recursive: true, force: true });
  }
}

/** Runs a command that must end well, and reads all it says. */
export async function run(box: BoxHandle, argv: readonly string[]): Promise<ExecExit> {
  const request = { argv, workdir: "/workspace", env: {}, timeoutMs: 60_000 };
  for await (const event of box.exec(request, FOREVER))
    if (event.type === "exit") {
      if (event.exit.exitCode !== 0) throw new Error(`${argv.join(" ")}: ${JSON.stringify(event.exit)}`);
      return event.exit;
    }
  throw new Error("The command has no exit.");
}

export async function* pieces(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  for (let start = 0; start < bytes.length; start += PIECE_BYTES)
    yield await Promise.resolve(bytes.subarray(start, start + PIECE_BYTES));
}
