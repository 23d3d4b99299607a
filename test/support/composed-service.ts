/** The whole service in this process, on a free port, with its data in a directory of its own. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { z } from "zod";
import { type ComposeOptions, compose } from "../../src/compose.js";
import { loadConfig } from "../../src/config/load-config.js";
import { type Run, runSchema } from "../../src/domain/run.js";
import { CleanupStack } from "../../src/lib/cleanup-stack.js";
import { removeServiceDirectory } from "./data-directory.js";
import { withoutSpareBoxes } from "./without-spare-boxes.js";

export const LOCAL_AGENT = "plugin:berth/local-agent/default";

export interface ComposedService extends AsyncDisposable {
  readonly url: string;
  /** Lines of the log. */
  readonly log: readonly string[];
  readonly directory: string;
  /** Posts a message as JSON and waits for its run. */
  send(message: Readonly<Record<string, unknown>>): Promise<Run>;
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

export interface ServiceOptions extends Omit<ComposeOptions, "logDestination"> {
  /** Settings of the config file; port and storage are filled in. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Where a service has run before; it is kept. */
  readonly directory?: string;
}

/** Settings of one pipeline with the local agent on a model. */
export function onePipeline(
  primary: string,
  config: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  const model = { primary, fallbacks: [], reasoning: {} };
  return {
    id: "default",
    runner: { id: LOCAL_AGENT },
    runner_config: { [LOCAL_AGENT]: { model, ...config } },
  };
}

/** Entry of `models` for a model that a test stands in for. */
export function standIn(id: string, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { id, base_url: "http://127.0.0.1:9/v1", model: id, ...more };
}

export async function startService(options: ServiceOptions = {}): Promise<ComposedService> {
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), "berth-test-")));
  const file = join(directory, "berth.yaml");
  const settings = {
    server: { port: 0 },
    storage: { directory: join(directory, "data") },
    ...withoutSpareBoxes(options.settings ?? {}),
  };
  await writeFile(file, stringify(settings));
  const loaded = loadConfig({ environment: {}, workingDirectory: directory, file });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  const log: string[] = [];
  const isKept = options.directory !== undefined;
  await using life = new CleanupStack(isKept ? [] : [() => removeServiceDirectory(directory)]);
  const logDestination = { write: (line: string) => void log.push(line) };
  const url = await life.use(await compose(loaded.config, { ...options, logDestination })).listen();
  return new RunningService({ url, log, directory, life: life.move() });
}

class RunningService implements ComposedService {
  readonly url: string;
  readonly log: readonly string[];
  readonly directory: string;
  readonly #life: CleanupStack;

  constructor(parts: { url: string; log: readonly string[]; directory: string; life: CleanupStack }) {
    this.url = parts.url;
    this.log = parts.log;
    this.directory = parts.directory;
    this.#life = parts.life;
  }

  async fetch(path: string, init?: RequestInit): Promise<Response> {
    return fetch(`${this.url}${path}`, init);
  }

  async send(message: Readonly<Record<string, unknown>>): Promise<Run> {
    return sendMessage(this.url, message);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#life[Symbol.asyncDispose]();
  }
}

/** @throws when the answer is not 200 */
export async function sendMessage(url: string, message: Readonly<Record<string, unknown>>): Promise<Run> {
  const response = await fetch(`${url}/v1/runs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(message),
  });
  const body: unknown = await response.json();
  if (response.status !== 200) throw new Error(`${response.status} ${JSON.stringify(body)}`);
  return runSchema.parse(body);
}

const errorBody = z.object({ error: z.looseObject({ code: z.string(), message: z.string() }) });

/** The code of an error answer. */
export async function errorCode(response: Response): Promise<string> {
  return errorBody.parse(await response.json()).error.code;
}
