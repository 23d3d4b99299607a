/** A service whose runs wait until a test lets them go, of a runner that may be steered. */
import type { RunId } from "../../src/domain/ids.js";
import type { RunHost } from "../../src/ports/run-host.js";
import type { MessageRequest } from "../../src/runs/run-request.js";
import { message, ScriptedRunner } from "../fakes/scripted-runner.js";
import { aDescriptor, aRequest, CALLER } from "./builders.js";
import { aRunWorld, NEVER, type RunWorld, type WorldOptions } from "./run-world.js";

export const CALL = { signal: NEVER };
export const OTHER = { tenant: "other", role: "client" } as const;
export const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export interface Setting extends AsyncDisposable {
  readonly world: RunWorld;
  /** Hosts of the runs that go on, by the text of their message. */
  readonly hosts: Map<string, RunHost>;
  release(text: string): void;
}

/** Runs that wait until a test lets them go, of a runner that may be steered. */
export function aSetting(options: WorldOptions = {}, steering = true): Setting {
  const hosts = new Map<string, RunHost>();
  const gates = new Map<string, () => void>();
  const runner = new ScriptedRunner({
    descriptor: aDescriptor({ capabilities: { streaming: true, interrupt: true, steering } }),
    play: async function* (context, host, { signal }) {
      const text = context.input.text ?? "";
      hosts.set(text, host);
      await new Promise<void>((resolve) => {
        gates.set(text, resolve);
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
      signal.throwIfAborted();
      yield { ...message(`Answer to ${text}`), run_id: context.run_id };
    },
  });
  const world = aRunWorld({ ...options, runner });
  return {
    world,
    hosts,
    release: (text) => gates.get(text)?.(),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

export async function admit(setting: Setting, text: string, fields: Partial<MessageRequest> = {}) {
  const { run } = await setting.world.serve.admit(aRequest({ text, ...fields }), CALLER, CALL);
  await tick();
  return run;
}

export async function pull(setting: Setting, text: string, mode: "all" | "one-at-a-time" = "all") {
  const pulled = await setting.hosts.get(text)?.pullSteering({ mode }, CALL);
  return pulled?.map((item) => item.text);
}

export async function history(setting: Setting, id: RunId): Promise<unknown[]> {
  const { conversation } = await setting.world.record(id);
  const items = await setting.world.transcriptOf(conversation);
  return items.map((item) => item.message.content);
}
