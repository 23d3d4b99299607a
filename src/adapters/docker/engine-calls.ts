/** Every call that Berth makes to an engine, with its time limit; a socket proxy needs to permit no more (box §18.6). */
import type { Duplex } from "node:stream";
import type { z } from "zod";
import { ServiceError } from "../../domain/errors.js";
import type { CallOptions } from "../../ports/options.js";
import type { CreateBody } from "./container-body.js";
import type { EngineApi, EngineRequest } from "./engine-api.js";
import { describeRefusal } from "./engine-errors.js";
import {
  type ContainerSummary,
  type ContainerView,
  containerListSchema,
  containerViewSchema,
  createdSchema,
  type EngineInfo,
  type EngineVersion,
  type ExecView,
  engineInfoSchema,
  engineVersionSchema,
  execViewSchema,
  type IdleVolume,
  idleVolumeListSchema,
  imageViewSchema,
  processListSchema,
  type VolumeView,
  volumeListSchema,
  volumeViewSchema,
  waitSchema,
} from "./engine-views.js";

/** Time limits of security §3.4. */
const LOOK_MS = 5000;
const EXEC_MS = 10_000;
const END_MS = 20_000;
const START_MS = 30_000;

export interface ExecBody {
  readonly Cmd: readonly string[];
  readonly User: string;
  readonly WorkingDir: string;
  readonly Env: readonly string[];
  readonly AttachStdin: boolean;
  readonly AttachStdout: boolean;
  readonly AttachStderr: boolean;
  readonly Tty: boolean;
}

/** Which statuses of a call are no failures, and what they mean. */
type Harmless<Meaning extends string> = Readonly<Record<number, Meaning>>;

export class EngineCalls {
  readonly #api: EngineApi;

  constructor(api: EngineApi) {
    this.#api = api;
  }

  async info(options: CallOptions): Promise<EngineInfo> {
    return this.#get(engineInfoSchema, look("describe itself", "/info"), options);
  }

  async version(options: CallOptions): Promise<EngineVersion> {
    return this.#get(engineVersionSchema, look("tell its version", "/version"), options);
  }

  /** @returns the paths that the image declares as volumes; null when there is no such image */
  async imageVolumes(image: string, options: CallOptions): Promise<readonly string[] | null> {
    const view = await this.#find(imageViewSchema, lookUpImage(image), options);
    return view === null ? null : Object.keys(view.Config?.Volumes ?? {});
  }

  /** @returns what changes with the image's content; null when there is no such image */
  async imageId(image: string, options: CallOptions): Promise<string | null> {
    return (await this.#find(createdSchema, lookUpImage(image), options))?.Id ?? null;
  }

  /**
   * An existing volume of that name is answered as if it were new, whatever its driver was given.
   * @param options `driver` is what the local driver is given
   * @returns its labels, looked up: some engines forget to answer those of a volume older than their own start
   */
  async createVolume(
    name: string,
    labels: Readonly<Record<string, string>>,
    options: CallOptions & { readonly driver?: Readonly<Record<string, string>> | undefined },
  ): Promise<Readonly<Record<string, string>>> {
    const creation = {
      operation: "create the workspace",
      method: "POST",
      path: "/volumes/create",
      body: { Name: name, Driver: "local", DriverOpts: options.driver ?? {}, Labels: labels },
      limitMs: START_MS,
    } as const;
    await this.#get(volumeViewSchema, creation, options);
    return (await this.#get(volumeViewSchema, lookUpVolume(name), options)).Labels;
  }

  async hasVolume(name: string, options: CallOptions): Promise<boolean> {
    return (await this.findVolume(name, options)) !== null;
  }

  /** @returns null when there is no such volume */
  async findVolume(name: string, options: CallOptions): Promise<VolumeView | null> {
    return this.#find(volumeViewSchema, lookUpVolume(name), options);
  }

  async removeVolume(name: string, options: CallOptions): Promise<void> {
    await this.#act(
      {
        operation: "remove the workspace",
        method: "DELETE",
        path: `/volumes/${encodeURIComponent(name)}`,
        limitMs: END_MS,
      },
      { 404: "gone" },
      options,
    );
  }

  async listVolumes(label: string, options: CallOptions): Promise<readonly string[]> {
    const request = {
      ...look("list the workspaces", "/volumes"),
      query: { filters: JSON.stringify({ label: [label] }) },
    };
    return (await this.#get(volumeListSchema, request, options)).Volumes.map((volume) => volume.Name);
  }

  /** Volumes with the label that no container has mounted, stopped ones included. */
  async listIdleVolumes(label: string, options: CallOptions): Promise<readonly IdleVolume[]> {
    const request = {
      ...look("list the volumes", "/volumes"),
      query: { filters: JSON.stringify({ label: [label], dangling: ["true"] }) },
    };
    return (await this.#get(idleVolumeListSchema, request, options)).Volumes;
  }

  /** @returns "there" when a container of that name exists already */
  async createContainer(
    name: string,
    body: CreateBody,
    options: CallOptions,
  ): Promise<"done" | "there" | "no_image"> {
    const request = {
      operation: "create the container",
      method: "POST",
      path: "/containers/create",
      query: { name },
      body,
      limitMs: START_MS,
    } as const;
    return this.#act(request, { 404: "no_image", 409: "there" }, options);
  }

  /** @returns "gone" also while somebody removes it */
  async startContainer(name: string, options: CallOptions): Promise<"done" | "running" | "gone"> {
    const harmless = { 304: "running", 404: "gone", 409: "gone" } as const;
    return this.#act(change(name, "start", START_MS), harmless, options);
  }

  /** @returns "resting" when it does not run, or is paused already */
  async pauseContainer(name: string, options: CallOptions): Promise<"done" | "resting"> {
    return this.#act(change(name, "pause", END_MS), { 404: "resting", 409: "resting" }, options);
  }

  async unpauseContainer(name: string, options: CallOptions): Promise<void> {
    await this.#act(change(name, "unpause", END_MS), { 409: "running", 500: "running" }, options);
  }

  /** @returns "done" when it ran until then */
  async killContainer(name: string, options: CallOptions): Promise<"done" | "stopped" | "gone"> {
    return this.#act(change(name, "kill", END_MS), { 404: "gone", 409: "stopped" }, options);
  }

  async stopContainer(name: string, options: CallOptions): Promise<void> {
    await this.#act(change(name, "stop", END_MS), { 304: "stopped", 404: "gone" }, options);
  }

  /** @returns the exit code of the container's main process */
  async waitContainer(name: string, limitMs: number, options: CallOptions): Promise<number> {
    return (await this.#get(waitSchema, change(name, "wait", limitMs), options)).StatusCode;
  }

  /** @returns "busy" while somebody else is removing it */
  async removeContainer(name: string, options: CallOptions): Promise<"done" | "gone" | "busy"> {
    const request = {
      operation: "remove the container",
      method: "DELETE",
      path: `/containers/${encodeURIComponent(name)}`,
      query: { force: "true", v: "true" },
      limitMs: END_MS,
    } as const;
    return this.#act(request, { 404: "gone", 409: "busy" }, options);
  }

  /** @returns null when there is no such container */
  async inspectContainer(name: string, options: CallOptions): Promise<ContainerView | null> {
    const path = `/containers/${encodeURIComponent(name)}/json`;
    return this.#find(containerViewSchema, look("look up the container", path), options);
  }

  /** @returns number, parent and state letters of each process in it; null when it does not run */
  async listProcesses(name: string, options: CallOptions): Promise<readonly (readonly string[])[] | null> {
    const request = {
      ...look("list the processes of the box", `/containers/${encodeURIComponent(name)}/top`),
      query: { ps_args: "-eo pid,ppid,stat" },
    };
    const answer = await this.#api.ask(request, options);
    if (answer.ok) return read(processListSchema, answer.value, request).Processes;
    if (answer.refusal.status === 404 || answer.refusal.status === 409) return null;
    throw describeRefusal(request.operation, answer.refusal);
  }

  /** Stopped ones included. */
  async listContainers(
    filters: Readonly<Record<string, readonly string[]>>,
    options: CallOptions,
  ): Promise<readonly ContainerSummary[]> {
    const request = {
      ...look("list the containers", "/containers/json"),
      query: { all: "true", filters: JSON.stringify(filters) },
    };
    return this.#get(containerListSchema, request, options);
  }

  async createExec(container: string, body: ExecBody, options: CallOptions): Promise<string> {
    const request = {
      operation: "prepare a command in the box",
      method: "POST",
      path: `/containers/${encodeURIComponent(container)}/exec`,
      body,
      limitMs: EXEC_MS,
    } as const;
    return (await this.#get(createdSchema, request, options)).Id;
  }

  async startExec(id: string, options: CallOptions): Promise<Duplex> {
    const request = {
      operation: "start a command in the box",
      method: "POST",
      path: `/exec/${encodeURIComponent(id)}/start`,
      body: { Detach: false, Tty: false },
      limitMs: EXEC_MS,
    } as const;
    return this.#api.attach(request, options);
  }

  /** @returns null when the engine does not know the exec any more */
  async inspectExec(id: string, options: CallOptions): Promise<ExecView | null> {
    return this.#find(
      execViewSchema,
      look("look up a command", `/exec/${encodeURIComponent(id)}/json`),
      options,
    );
  }

  async #get<Schema extends z.ZodType>(
    schema: Schema,
    request: EngineRequest,
    options: CallOptions,
  ): Promise<z.output<Schema>> {
    return read(schema, await this.#api.call(request, options), request);
  }

  async #find<Schema extends z.ZodType>(
    schema: Schema,
    request: EngineRequest,
    options: CallOptions,
  ): Promise<z.output<Schema> | null> {
    const answer = await this.#api.ask(request, options);
    if (answer.ok) return read(schema, answer.value, request);
    if (answer.refusal.status === 404) return null;
    throw describeRefusal(request.operation, answer.refusal);
  }

  async #act<Meaning extends string>(
    request: EngineRequest,
    harmless: Harmless<Meaning>,
    options: CallOptions,
  ): Promise<"done" | Meaning> {
    const answer = await this.#api.ask(request, options);
    if (answer.ok) return "done";
    const meaning = harmless[answer.refusal.status];
    if (meaning !== undefined) return meaning;
    throw describeRefusal(request.operation, answer.refusal);
  }
}

function lookUpImage(image: string): EngineRequest {
  return look("look up the image", `/images/${encodeURIComponent(image)}/json`);
}

function lookUpVolume(name: string): EngineRequest {
  return look("look up the workspace", `/volumes/${encodeURIComponent(name)}`);
}

function look(operation: string, path: string): EngineRequest {
  return { operation, method: "GET", path, limitMs: LOOK_MS };
}

function change(name: string, verb: string, limitMs: number): EngineRequest {
  return {
    operation: verb === "wait" ? "finish preparing the workspace" : `${verb} the container`,
    method: "POST",
    path: `/containers/${encodeURIComponent(name)}/${verb}`,
    limitMs,
  };
}

function read<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  request: EngineRequest,
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const message = `The engine gave an answer that cannot be read when asked to ${request.operation}.`;
  throw new ServiceError("box.engine_unavailable", message, { cause: parsed.error });
}
