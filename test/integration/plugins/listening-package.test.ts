/** What a package makes of a message before its run, and what it declares, through the composed service (runs §3, §8). */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Run } from "../../../src/domain/run.js";
import { runnerMetadataSchema } from "../../../src/http/schemas/runner-bodies.js";
import { FakeBoxBackend } from "../../fakes/fake-box-backend.js";
import { type ComposedService, startService } from "../../support/composed-service.js";
import { writePackage } from "../../support/plugin-directory.js";
import { withTempDir } from "../../support/temp-dir.js";

const RUNNER = "plugin:acme/listener/default";

/** Its runner says what it was given: the text, and the prompt that it pulls. */
const LISTENER = `
import { completed, definePlugin, reply } from "berth/plugin-sdk";
const answers = {
  ping: { prevent_default: true, reply: "pong" },
  hush: { prevent_default: true },
  alter: { user_message_alter: "Altered" },
  prompt: { prompt: [{ role: "system", content: "Be brief." }] },
  nonsense: { prevent_default: "yes" },
};
export default definePlugin({
  runners: {
    default: async function* (context, host) {
      const prompt = await host.getPrompt();
      yield reply(JSON.stringify([context.input.text, prompt.map(({ content }) => content)]));
      yield completed();
    },
  },
  onEvent: ({ text }) => answers[text],
});
`;

let service: ComposedService;
let directory: Awaited<ReturnType<typeof withTempDir>>;

beforeAll(async () => {
  directory = await withTempDir();
  await writePackage(directory.path, {
    id: "acme/listener",
    entry: LISTENER,
    runners: { default: {} },
    spec: { listens_to: ["message.received"] },
  });
  service = await startService({
    backend: new FakeBoxBackend(),
    settings: {
      plugins: { directory: directory.path },
      bots: [{ id: "strict", allowed_plugins: [] }],
      pipelines: [{ id: "default", runner: { id: RUNNER }, runner_config: { [RUNNER]: {} } }],
    },
  });
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await directory[Symbol.asyncDispose]();
});

async function send(text: string): Promise<Run> {
  return service.send({ chat: { launcher_id: text }, input: { text } });
}

describe("a package that listens, in a process of its own", () => {
  it("answers, silences, alters and prompts", async () => {
    expect(await send("ping")).toMatchObject({ status: "completed", message: { content: "pong" } });
    expect(await send("hush")).toMatchObject({ status: "completed", message: null, error: null });
    expect(await send("alter")).toMatchObject({ message: { content: '["Altered",[]]' } });
    expect(await send("prompt")).toMatchObject({ message: { content: '["prompt",["Be brief."]]' } });
    expect(await send("nonsense")).toMatchObject({ message: { content: '["nonsense",[]]' } });
  });

  it("is shown among the runners, and refused to a bot that may not use it", async () => {
    const metadata = runnerMetadataSchema.parse(await (await service.fetch("/v1/runners")).json());
    expect(metadata.options.map(({ name }) => name)).toContain(RUNNER);
    const body = JSON.stringify({ chat: { launcher_id: "1", bot_id: "strict" }, input: { text: "Hello" } });
    const headers = { "content-type": "application/json" };
    const refused = await service.fetch("/v1/runs", { method: "POST", headers, body });
    expect(refused.status).toBe(403);
    expect(await refused.text()).toContain("may not be used here");
  });
});
