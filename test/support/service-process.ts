/** The real service as a process of its own, for tests that kill it or weigh it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { removeServiceDirectory } from "./data-directory.js";
import { withoutSpareBoxes } from "./without-spare-boxes.js";

export interface ServiceProcess extends AsyncDisposable {
  readonly url: string;
  /** Data directory; kept when `keepDirectory` was asked for. */
  readonly directory: string;
  readonly process: ChildProcess;
  /** Everything the process has written so far, stdout and stderr together. */
  output(): string;
  /** Resident memory in bytes. */
  residentBytes(): number;
  kill(signal: NodeJS.Signals): Promise<void>;
}

export interface ServiceProcessOptions {
  /** Settings of the config file; host, port and storage are filled in. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Data directory of a service that ran before. */
  readonly directory?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

const START_MS = 60_000;

export async function makeDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), "berth-test-"));
}

export async function startServiceProcess(options: ServiceProcessOptions): Promise<ServiceProcess> {
  const directory = options.directory ?? (await makeDirectory());
  const file = join(directory, "berth.yaml");
  const settings = {
    server: { port: 0 },
    storage: { directory: join(directory, "data") },
    ...withoutSpareBoxes(options.settings),
  };
  await writeFile(file, stringify(settings));
  const child = spawn(process.execPath, ["--import", "tsx", "src/main.ts"], {
    env: { PATH: process.env["PATH"], HOME: directory, BERTH_CONFIG: file, ...options.environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  };
  try {
    const url = await findUrl(child, () => output);
    return {
      url,
      directory,
      process: child,
      output: () => output,
      residentBytes: () => residentBytes(child.pid),
      kill,
      [Symbol.asyncDispose]: async () => {
        await kill("SIGKILL");
        if (options.directory === undefined) await removeServiceDirectory(directory);
      },
    };
  } catch (error) {
    await kill("SIGKILL");
    throw error;
  }
}

async function findUrl(child: ChildProcess, output: () => string): Promise<string> {
  const limit = AbortSignal.timeout(START_MS);
  for (;;) {
    const url = /listens on (http\S+)/.exec(output())?.[1];
    if (url !== undefined) return url;
    if (child.exitCode !== null) throw new Error(`The service ended with ${child.exitCode}:\n${output()}`);
    if (limit.aborted) throw new Error(`The service did not start:\n${output()}`);
    await Promise.race([
      once(child.stdout ?? child, "data", { signal: limit }),
      once(child, "exit", { signal: limit }),
    ]).catch(() => undefined);
  }
}

function residentBytes(pid: number | undefined): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes ?? 0) * 1024;
}
