/** An engine of canned answers that remembers volumes and says what a preparation ended with. */
import { z } from "zod";
import { type Answer, type EngineCall, EngineServer } from "./engine-server.js";

const volumeSchema = z.object({
  Name: z.string(),
  Labels: z.record(z.string(), z.string()),
  DriverOpts: z.record(z.string(), z.string()).optional(),
});

export interface EngineState {
  readonly volumes: Map<string, object>;
  /** State of the container that uses the volume of this name. */
  readonly users: Map<string, string>;
  exitCode: number;
}

export async function aVolumeEngine(): Promise<{
  readonly engine: EngineServer;
  readonly state: EngineState;
}> {
  const state: EngineState = { volumes: new Map(), users: new Map(), exitCode: 0 };
  return { engine: await EngineServer.listen((call) => answer(state, call)), state };
}

function answer(state: EngineState, call: EngineCall): Answer {
  return call.path.startsWith("/volumes") ? answerVolumes(state, call) : answerContainers(state, call);
}

function answerVolumes({ volumes }: EngineState, { method, path, body: asked }: EngineCall): Answer {
  if (path === "/volumes/create") {
    const { Name, Labels, DriverOpts } = volumeSchema.parse(asked);
    volumes.set(Name, { Name, Labels, Options: DriverOpts ?? null });
    return { status: 201, body: volumes.get(Name) };
  }
  if (path === "/volumes") return { status: 200, body: { Volumes: [...volumes.values()] } };
  const name = path.slice("/volumes/".length);
  const body = volumes.get(name);
  if (body === undefined) return { status: 404, body: { message: "no such volume" } };
  if (method !== "DELETE") return { status: 200, body };
  volumes.delete(name);
  return { status: 204 };
}

function answerContainers(state: EngineState, { path, query }: EngineCall): Answer {
  if (path === "/containers/json") return { status: 200, body: usersOf(state, query.get("filters") ?? "{}") };
  if (path === "/containers/create") return { status: 201, body: { Id: "1" } };
  if (path.endsWith("/wait")) return { status: 200, body: { StatusCode: state.exitCode } };
  return path.endsWith("/json") ? { status: 404, body: { message: "no such thing" } } : { status: 204 };
}

function usersOf({ users }: EngineState, filters: string): readonly object[] {
  const [volume = ""] = z
    .object({ volume: z.array(z.string()).default([]) })
    .parse(JSON.parse(filters)).volume;
  const state = users.get(volume);
  return state === undefined ? [] : [{ Names: ["/box"], State: state, Created: 0, Labels: {} }];
}
