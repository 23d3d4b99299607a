/** A session that is deleted while a message comes: the message gets the new box, and nobody asks for the old one. */
import { afterEach, describe, expect, it } from "vitest";
import { sessionListSchema } from "../../../src/http/schemas/session-bodies.js";
import type { CallOptions } from "../../../src/ports/options.js";
import { FakeBoxBackend } from "../../fakes/fake-box-backend.js";
import { ScriptedModel, text } from "../../fakes/scripted-model.js";
import { lastExec, late, runs } from "../../support/agent-script.js";
import { type ComposedService, onePipeline, standIn, startService } from "../../support/composed-service.js";
import { proves } from "../../support/proves.js";

const HELLO = { chat: { launcher_id: "42" }, input: { text: "Hello" } };

/** Keeps what every call names, and lets a test hold up a removal. */
class WatchedBackend extends FakeBoxBackend {
  readonly named: string[] = [];
  onRemove: () => Promise<void> = async () => {};

  override async start(...given: Parameters<FakeBoxBackend["start"]>) {
    this.named.push(given[0].container);
    return super.start(...given);
  }

  override async open(...given: Parameters<FakeBoxBackend["open"]>) {
    this.named.push(given[0].container);
    return super.open(...given);
  }

  override async inspect(name: string, options: CallOptions) {
    this.named.push(name);
    return super.inspect(name, options);
  }

  override async removeContainer(name: string, options: CallOptions) {
    await this.onRemove();
    await super.removeContainer(name, options);
  }
}

let service: ComposedService | null = null;
afterEach(async () => {
  await service?.[Symbol.asyncDispose]();
  service = null;
});

async function begin(backend: FakeBoxBackend, model: ScriptedModel): Promise<ComposedService> {
  service = await startService({
    models: new Map([["m1", model]]),
    backend,
    settings: { models: [standIn("m1")], pipelines: [onePipeline("m1")] },
  });
  return service;
}

describe("a message that comes while its session is deleted", () => {
  it("runs in a new box of a new session, and the old container is not called again", async () => {
    proves("BOX-17");
    const backend = new WatchedBackend();
    using model = new ScriptedModel([
      runs("echo kept > /workspace/a.txt"),
      text("one"),
      runs("echo new"),
      late((request) => text(lastExec(request).stdout)),
    ]);
    const { send, fetch } = bound(await begin(backend, model));
    const first = await send(HELLO);
    const [old] = (await backend.listOwned(ENDLESS)).containers;
    const removing = new Passage();
    const admitted = new Passage();
    backend.onRemove = async () => {
      removing.open();
      await admitted.passed;
    };
    const deleted = fetch(`/v1/sessions/${first.session?.id}`, { method: "DELETE" });
    await removing.passed;
    const called = backend.named.length;
    const second = send(HELLO);
    await expect
      .poll(async () => (await (await fetch("/v1/runs?status=running")).text()).includes('"running"'))
      .toBe(true);
    admitted.open();
    expect((await deleted).status).toBe(200);
    const run = await second;
    expect(run).toMatchObject({ status: "completed", error: null, message: { content: "new\n" } });
    expect(run.session?.id).not.toBe(first.session?.id);
    expect(backend.named.slice(called)).not.toContain(old?.name);
    const { data } = sessionListSchema.parse(await (await fetch("/v1/sessions")).json());
    expect(data).toMatchObject([{ id: run.session?.id, box: { state: "ready" } }]);
    const { containers, volumes } = await backend.listOwned(ENDLESS);
    expect([containers.length, volumes.length]).toEqual([1, 1]);
  });
});

const ENDLESS = { signal: new AbortController().signal };

function bound(of: ComposedService): Pick<ComposedService, "send" | "fetch"> {
  return { send: (message) => of.send(message), fetch: (path, init) => of.fetch(path, init) };
}

/** A promise that a test settles. */
class Passage {
  readonly passed: Promise<void>;
  open: () => void = () => {};

  constructor() {
    this.passed = new Promise((resolve) => {
      this.open = resolve;
    });
  }
}
