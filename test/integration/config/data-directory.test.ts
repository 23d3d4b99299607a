/** Where the service keeps what it has: no legitimate place is refused (box §10.4). */
import { mkdtemp, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type Composed, compose } from "../../../src/compose.js";
import { loadConfig } from "../../../src/config/load-config.js";
import { FakeBoxBackend } from "../../fakes/fake-box-backend.js";
import { sendMessage } from "../../support/composed-service.js";

const KEY = "key-canary-0123456789abcdefghijklmn";
const made: string[] = [];
afterEach(async () => {
  await Promise.all(made.map((directory) => rm(directory, { recursive: true, force: true })));
});

async function serve(directory: string, key = ""): Promise<Composed> {
  const data = { BERTH_DATA_DIR: directory, BERTH_PORT: "0", BERTH_LOG_LEVEL: "error" };
  const loaded = loadConfig({ environment: { ...data, BERTH_API_KEY: key }, workingDirectory: tmpdir() });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  return compose(loaded.config, {
    backend: new FakeBoxBackend(),
    logDestination: { write: () => undefined },
  });
}

async function answerFrom(directory: string): Promise<string | undefined> {
  await using service = await serve(directory);
  const run = await sendMessage(await service.listen(), {
    chat: { launcher_id: "42" },
    input: { text: "Hello" },
  });
  return run.status;
}

describe("the data directory", () => {
  it("may lie in the home of the user, root's too, and may have spaces in its name", async () => {
    const home = await mkdtemp(join(homedir(), ".berth-test-"));
    const spaced = await mkdtemp(join(tmpdir(), "berth test with spaces "));
    made.push(home, spaced);
    expect(await answerFrom(home)).toBe("completed");
    expect(await answerFrom(join(spaced, "a new place"))).toBe("completed");
  });

  it("still belongs to its owner when a key is set", async () => {
    const place = await mkdtemp(join(tmpdir(), "berth-test-"));
    made.push(place);
    await answerFrom(place);
    await using service = await serve(place, KEY);
    const answer = await fetch(`${await service.listen()}/v1/runs`, {
      headers: { authorization: `Bearer ${KEY}`, connection: "close" },
    });
    expect(await answer.json()).toMatchObject({ data: [{ status: "completed" }] });
  });
});
