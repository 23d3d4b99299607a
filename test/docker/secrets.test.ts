/** Secrets of the service: none is in a box, none is shown where one turns up all the same (box §10.7). */
import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import Docker from "dockerode";
import { describe, expect, inject, it } from "vitest";
import { z } from "zod";
import { type Run, runSchema } from "../../src/domain/run.js";
import { CleanupStack } from "../../src/lib/cleanup-stack.js";
import {
  type ReceivedRequest,
  reply,
  type ScriptedModelServer,
  type ServerStep,
  startScriptedModelServer,
} from "../fakes/scripted-model-server.js";
import { onePipeline } from "../support/composed-service.js";
import { proves } from "../support/proves.js";
import { removeOwned, serviceIdOf } from "../support/service-boxes.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

const API_KEY = "berth-canary-0123456789abcdef0123456789";
const MODEL_KEY = "sk-canary-fedcba9876543210";
const ENVIRONMENT = {
  BERTH_API_KEY: API_KEY,
  MODEL_KEY,
  SERVICE_CANARY: "canary-of-the-service-environment",
};
/** Of one command, not a secret of the service. */
const COMMAND_VALUE = "canary-of-one-command";

const EVERYTHING =
  "env; cat /proc/1/environ; for place in /proc/[0-9]*; do cat $place/environ; echo; cat $place/cmdline; echo; done; " +
  "cat /proc/1/cmdline; mount; hostname; true";
/** The pieces of the key are written apart in time, so that they come in two frames. */
const SAID = `for piece in sk-cana ry-fedc ba98765 43210; do printf %s "$piece"; sleep 0.2; done; printf %s '${MODEL_KEY.slice(0, 9)}' >&2; printf %s '${MODEL_KEY.slice(9)}' >&2`;
const KEPT = `printf %s '${API_KEY.slice(0, 20)}' > "$BERTH_OUTBOX/key.txt"; printf %s '${API_KEY.slice(20)}' >> "$BERTH_OUTBOX/key.txt"`;

const fileText = z.object({ content: z.string() });

function call(
  name: string,
  parameters: (request: ReceivedRequest) => Readonly<Record<string, unknown>>,
): ServerStep {
  return (request, response) =>
    reply({
      calls: [{ id: `call_${name}`, function: { name, arguments: JSON.stringify(parameters(request)) } }],
    })(request, response);
}

function keyFile(request: ReceivedRequest): string {
  const outbox = /\/workspace\/outbox\/run_[A-Za-z0-9]+/.exec(JSON.stringify(request.body.messages))?.[0];
  return `${outbox}/key.txt`;
}

/** What the last tool answered. */
function lastResult(model: ScriptedModelServer, index: number): string {
  return String(model.body(index).messages?.at(-1)?.content);
}

async function ask(service: ServiceProcess, path: string, body?: unknown): Promise<Response> {
  return fetch(`${service.url}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** Command lines of the whole machine that hold the word, but for the test's own. */
function commandLinesWith(word: string): readonly string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const line = readFileSync(`/proc/${name}/cmdline`, "utf8");
        return line.includes(word) ? [line] : [];
      } catch {
        return [];
      }
    });
}

describe.skipIf(!inject("dockerAvailable"))("the secrets of a service", () => {
  it("are not in the box, and are masked in results, events, history and log", async () => {
    proves("ISO-16");
    let outside: readonly string[] = ["not looked at"];
    await using model = await startScriptedModelServer(
      [
        call("exec", () => ({ command: EVERYTHING, env: { CHOSEN: COMMAND_VALUE } })),
        call("exec", () => ({ command: SAID })),
        call("exec", () => ({ command: KEPT })),
        call("read", (request) => ({ path: keyFile(request) })),
        call("export_box_files", (request) => ({ paths: [keyFile(request)] })),
        call("read", () => ({ path: `/workspace/${API_KEY}` })),
        reply({ content: `The keys are ${MODEL_KEY} and ${API_KEY}.` }),
        call("exec", () => ({ command: "sleep 1", env: { CHOSEN: COMMAND_VALUE } })),
        (_request, response) => {
          response.writeHead(401, { "content-type": "application/json" });
          response.end(JSON.stringify({ error: { message: `Incorrect API key: ${MODEL_KEY}` } }));
        },
      ],
      {},
    );
    await using service = await startServiceProcess({
      environment: ENVIRONMENT,
      settings: {
        boxes: { image: "berth-box:slim" },
        models: [{ id: "m1", base_url: model.baseUrl, model: "scripted", api_key: "${MODEL_KEY}" }],
        pipelines: [onePipeline("m1")],
        log: { level: "debug" },
      },
    });
    const id = await serviceIdOf(service.directory);
    await using _boxes = new CleanupStack([
      async () => {
        await service.kill("SIGTERM");
        await removeOwned(new Docker(), id);
      },
    ]);
    const message = { chat: { launcher_type: "person", launcher_id: "42" }, input: { text: "Tell all" } };
    const first = runSchema.parse(await (await ask(service, "/v1/runs", message)).json());
    const second = ask(service, "/v1/runs", message);
    const watch = setInterval(() => {
      outside = [...outside.filter((line) => line !== "not looked at"), ...commandLinesWith(COMMAND_VALUE)];
    }, 100);
    const failed = runSchema.parse(await (await second).json());
    clearInterval(watch);

    expect(first).toMatchObject({
      status: "completed",
      message: { content: "The keys are [redacted] and [redacted]." },
    });
    const inside = lastResult(model, 1);
    expect(inside).toContain(`CHOSEN=${COMMAND_VALUE}`);
    expect(inside).toContain("HOME=/workspace/.home");
    for (const name of Object.keys(ENVIRONMENT)) expect(inside).not.toContain(name);
    expect(outside).toEqual([]);
    expect(JSON.parse(lastResult(model, 2))).toMatchObject({ stdout: "[redacted]", stderr: "[redacted]" });
    expect(fileText.parse(JSON.parse(lastResult(model, 4))).content).toContain("[redacted]");
    expect(lastResult(model, 6)).toContain("[redacted]");
    expect(await (await ask(service, first.deliveries[0]?.url ?? "")).text()).toBe(API_KEY);

    expect(failed).toMatchObject({ status: "failed" });
    await expectNoSecret(service, [first, failed], model);
  }, 60_000);
});

async function expectNoSecret(
  service: ServiceProcess,
  runs: readonly Run[],
  model: ScriptedModelServer,
): Promise<void> {
  const events = await Promise.all(
    runs.map(async ({ id }) => (await ask(service, `/v1/runs/${id}/events`)).text()),
  );
  const database = await readFile(join(service.directory, "data", "berth.db"), "latin1");
  const journal = await readFile(join(service.directory, "data", "berth.db-wal"), "latin1");
  expect(events.join("")).toContain("[redacted]");
  // What the model says itself is its own; the last request has the first run's messages out of the history.
  const answers = model.requests.flatMap(
    ({ body }) => body.messages?.filter(({ role }) => role === "tool") ?? [],
  );
  const told = [JSON.stringify(answers), JSON.stringify(model.body().messages)];
  for (const said of [JSON.stringify(runs), ...events, service.output(), ...told, database, journal])
    for (const secret of Object.values(ENVIRONMENT)) expect(said.includes(secret)).toBe(false);
}
