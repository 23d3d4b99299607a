/**
 * A second engine that a test may stop and kill: in a network namespace of its own, because one beside another breaks its
 * networks, and with everything it writes in one directory (security §2.13). Disposing leaves no process, mount or file.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import Docker from "dockerode";
import { run } from "./run-program.js";

/** Not the place for temporary files, which may lie in memory. */
const PLACE = "/var/tmp/berth-engine-";
const START_MS = 90_000;
const END_MS = 30_000;
const PROGRAMS = ["dockerd", "containerd", "unshare", "umount"];

/** Whether this machine lets a test start an engine. */
export function canOwnEngine(): boolean {
  const folders = (process.env["PATH"] ?? "").split(":");
  return (
    process.getuid?.() === 0 &&
    PROGRAMS.every((name) => folders.some((folder) => existsSync(join(folder, name))))
  );
}

export class OwnEngine implements AsyncDisposable {
  readonly docker: Docker;
  readonly address: string;
  readonly #directory: string;
  #daemon: ChildProcess | null = null;
  #ending: Promise<void> = Promise.resolve();
  #said = "";

  private constructor(directory: string) {
    this.#directory = directory;
    const socketPath = join(directory, "engine.sock");
    this.address = `unix://${socketPath}`;
    this.docker = new Docker({ socketPath });
  }

  /** @param images are copied from the engine that tests use */
  static async start(images: readonly string[]): Promise<OwnEngine> {
    const directory = await mkdtemp(PLACE);
    const engine = new OwnEngine(directory);
    try {
      await engine.start();
      for (const image of images) await engine.#load(image);
      return engine;
    } catch (error) {
      await engine[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Starts it, also again; one that is just being ended first ends. */
  async start(): Promise<void> {
    await this.#ending;
    const until = performance.now() + START_MS;
    while (!(await this.#launch())) if (performance.now() > until) throw new Error(this.#said);
  }

  /** @returns false when it ended instead: on a busy machine it does not wait for its containerd for long */
  async #launch(): Promise<boolean> {
    const at = (name: string): string => join(this.#directory, name);
    // One that was killed leaves these; another process may have its number meanwhile.
    for (const left of ["pid", "engine.sock", "exec/containerd/containerd.pid"])
      await rm(at(left), { force: true });
    const paths = ["--data-root", at("data"), "--exec-root", at("exec"), "--pidfile", at("pid")];
    const network = ["--bridge=none", "--iptables=false", "--ip-forward=false", "--ip-masq=false"];
    const words = ["dockerd", ...paths, ...network, "--host", this.address, "--log-level", "error"];
    const daemon = spawn("unshare", ["--net", ...words], { stdio: ["ignore", "ignore", "pipe"] });
    this.#said = "The test's own engine did not start. ";
    daemon.stderr.setEncoding("utf8").on("data", (said: string) => (this.#said += said));
    this.#daemon = daemon;
    while (!(await this.#answers())) {
      if (daemon.exitCode !== null) return false;
      await delay(100);
    }
    return true;
  }

  /** Returns when it is gone, its containerd too; what ran in containers may live on. */
  async kill(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const daemon = this.#daemon;
    this.#daemon = null;
    if (daemon !== null && daemon.exitCode === null && daemon.signalCode === null)
      this.#ending = this.#end(daemon, signal);
    await this.#ending;
  }

  async #end(daemon: ChildProcess, signal: NodeJS.Signals): Promise<void> {
    const gone = once(daemon, "exit");
    daemon.kill(signal);
    await gone;
    while (this.#processes().some((pid) => /containerd\0--config/.test(readText(`/proc/${pid}/cmdline`))))
      await delay(20);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#daemon !== null && (await this.#answers()))
      for (const { Id: id } of await this.docker.listContainers({ all: true }))
        await this.docker.getContainer(id).remove({ force: true, v: true });
    await this.kill("SIGTERM");
    await this.#endProcesses();
    for (const mount of this.#mounts()) await run("umount", ["-l", mount]);
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #answers(): Promise<boolean> {
    return this.docker.ping().then(
      () => true,
      () => false,
    );
  }

  async #load(image: string): Promise<void> {
    const packed = await new Docker().getImage(image).get();
    const answer = await this.docker.loadImage(packed);
    answer.resume();
    await once(answer, "end");
  }

  /** What it started and did not end: all of it names the directory. */
  async #endProcesses(): Promise<void> {
    const until = performance.now() + END_MS;
    for (let left = this.#processes(); left.length > 0; left = this.#processes()) {
      if (performance.now() > until) throw new Error("Processes of the test's own engine do not end.");
      for (const pid of left) process.kill(pid, "SIGKILL");
      await delay(50);
    }
  }

  #processes(): readonly number[] {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name) && readText(`/proc/${name}/cmdline`).includes(this.#directory))
      .map(Number);
  }

  /** The innermost first. */
  #mounts(): readonly string[] {
    const lines = readText("/proc/self/mounts").split("\n");
    const places = lines.flatMap((line) => line.split(" ")[1] ?? []);
    return places.filter((place) => place.startsWith(this.#directory)).toReversed();
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
