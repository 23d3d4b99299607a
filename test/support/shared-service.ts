/** One service on the real engine for several tests; each test brings its own script, and nothing stays behind. */
import Docker from "dockerode";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { z } from "zod";
import type { Run } from "../../src/domain/run.js";
import type { ChatChunk, ChatModel, ChatReply, ChatRequest } from "../../src/ports/chat-model.js";
import type { CallOptions } from "../../src/ports/options.js";
import { ScriptedModel, type Step } from "../fakes/scripted-model.js";
import { type ComposedService, onePipeline, standIn, startService } from "./composed-service.js";
import { type ServedBy, TestEngine } from "./engine.js";
import { ownedContainers, removeOwned, serviceIdOf } from "./service-boxes.js";

/** The service waits for its runs when it stops. */
const HOOK_MS = 60_000;

/** Said of the machine that the tests run on, and of runs, which tests look at themselves. */
const EXPECTED = new Set(["The engine does not enforce everything.", "A run has failed."]);

export interface SharedOptions {
  /** `engine`: by workers that the engine starts, as where the helper cannot be had. */
  readonly servedBy?: ServedBy;
  /** Of the local agent. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Of the one model. */
  readonly model?: Readonly<Record<string, unknown>>;
  readonly boxes?: Readonly<Record<string, unknown>>;
  readonly pipeline?: Readonly<Record<string, unknown>>;
  readonly settings?: Readonly<Record<string, unknown>>;
  /** The engine that `boxes` names, where that is not the usual one. */
  readonly engine?: Docker;
}

const topSchema = z.object({ Processes: z.array(z.array(z.string())) });
const troubleSchema = z.looseObject({ level: z.string(), message: z.string().default("") });

interface Parts {
  readonly service: ComposedService;
  readonly model: SwitchedModel;
  readonly id: string;
  readonly engine: Docker;
  readonly ownEngine: TestEngine | null;
}

export class SharedService implements AsyncDisposable {
  readonly engine: Docker;
  readonly id: string;
  readonly #service: ComposedService;
  readonly #model: SwitchedModel;
  readonly #ownEngine: TestEngine | null;
  #linesRead = 0;

  static async start(options: SharedOptions = {}): Promise<SharedService> {
    const model = new SwitchedModel();
    // The service does not own what stands in for its engine.
    const ownEngine = options.servedBy === "engine" ? new TestEngine("engine") : null;
    const service = await startService({
      models: new Map([["m1", model]]),
      ...(ownEngine === null ? {} : { backend: ownEngine.backend }),
      settings: {
        models: [standIn("m1", options.model)],
        pipelines: [{ ...onePipeline("m1", options.config), ...options.pipeline }],
        boxes: { image: "berth-box:slim", ...options.boxes },
        ...options.settings,
      },
    });
    const id = await serviceIdOf(service.directory);
    return new SharedService({ service, model, id, engine: options.engine ?? new Docker(), ownEngine });
  }

  private constructor({ service, model, id, engine, ownEngine }: Parts) {
    this.engine = engine;
    this.#ownEngine = ownEngine;
    this.#service = service;
    this.#model = model;
    this.id = id;
  }

  get url(): string {
    return this.#service.url;
  }

  /** What the model does from here on; disposing asserts that it did all of it. */
  script(...steps: readonly Step[]): ScriptedModel {
    this.#model.current = new ScriptedModel(steps);
    return this.#model.current;
  }

  async send(body: Readonly<Record<string, unknown>>): Promise<Run> {
    return this.#service.send(body);
  }

  async fetch(path: string, init?: RequestInit): Promise<Response> {
    return this.#service.fetch(path, init);
  }

  async post(value: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    const body = JSON.stringify(value);
    return this.fetch("/v1/runs", {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    });
  }

  async download(run: Run, index = 0): Promise<Buffer> {
    const response = await this.fetch(run.deliveries[index]?.url ?? "");
    if (response.status !== 200) throw new Error(`The download answered ${response.status}.`);
    return Buffer.from(await response.arrayBuffer());
  }

  async containers(): Promise<readonly Docker.ContainerInfo[]> {
    return ownedContainers(this.engine, this.id);
  }

  /** Processes in the service's boxes whose command line holds the word, as the engine sees them. */
  async countProcesses(word: string): Promise<number> {
    const tops = (await this.containers()).map(async ({ Id: id }) =>
      topSchema.parse(await this.engine.getContainer(id).top()),
    );
    const rows = (await Promise.all(tops)).flatMap(({ Processes: processes }) => processes);
    return rows.filter((row) => row.join(" ").includes(word)).length;
  }

  /** Warnings and errors of the log since this was asked last, but for those that any test may cause. */
  takeTroubles(): readonly string[] {
    const fresh = this.#service.log.slice(this.#linesRead);
    this.#linesRead = this.#service.log.length;
    return fresh.filter((line) => {
      const { level, message: said } = troubleSchema.parse(JSON.parse(line));
      return ["warn", "error", "fatal"].includes(level) && !EXPECTED.has(said);
    });
  }

  /** The whole log so far. */
  get log(): string {
    return this.#service.log.join("");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#service[Symbol.asyncDispose]();
    await removeOwned(this.engine, this.id);
    await this.#ownEngine?.[Symbol.asyncDispose]();
  }
}

/** For the body of a describe: one service for its tests; after each of them the log holds no warning that was not taken. */
export function serviceForAll(options: SharedOptions = {}): () => SharedService {
  let service: SharedService | null = null;
  const current = (): SharedService => {
    if (service === null) throw new Error("The service was not started.");
    return service;
  };
  beforeAll(async () => {
    service = await SharedService.start(options);
  }, HOOK_MS);
  afterEach(() => expect(service?.takeTroubles() ?? []).toEqual([]));
  afterAll(async () => service?.[Symbol.asyncDispose](), HOOK_MS);
  return current;
}

/** Passes every call on to the script of the test that is running. */
class SwitchedModel implements ChatModel {
  current = new ScriptedModel([]);

  async complete(request: ChatRequest, options: CallOptions): Promise<ChatReply> {
    return this.current.complete(request, options);
  }

  stream(request: ChatRequest, options: CallOptions): AsyncIterable<ChatChunk> {
    return this.current.stream(request, options);
  }
}

/** A message to a person's chat. */
export function chatMessage(
  chat: string,
  words: string,
  contents: readonly unknown[] = [],
): Readonly<Record<string, unknown>> {
  return { chat: { launcher_type: "person", launcher_id: chat }, input: { text: words, contents } };
}

/** A file as base64, as a client attaches it. */
export function attached(
  name: string,
  bytes: Uint8Array | string,
  type: "file_base64" | "image_base64" = "file_base64",
): Readonly<Record<string, unknown>> {
  return { type, name, data: Buffer.from(bytes).toString("base64") };
}
