/** What the runner of a package keeps, orders and delivers through the host, over the whole service (runs §15.5, §16). */
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeBoxBackend } from "../../fakes/fake-box-backend.js";
import { type ComposedService, startService } from "../../support/composed-service.js";
import { writePackage } from "../../support/plugin-directory.js";
import { withTempDir } from "../../support/temp-dir.js";

const PICTURE = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

/** Counts its runs in every scope and says what it saw; with a URL in the message it captures that. */
const KEEPER = `
import { completed, definePlugin, reply } from "berth/plugin-sdk";
export default definePlugin({
  runners: {
    default: async function* (context, host) {
      const counts = {};
      for (const scope of ["conversation", "actor", "runner"]) {
        const entry = { scope, key: "runs" };
        counts[scope] = ((await host.getState(entry)) ?? 0) + 1;
        await host.setState({ ...entry, value: counts[scope] });
      }
      const shown = context.state.conversation.runs ?? 0;
      const storage = { scope: "workspace", key: "runs" };
      const refused = await host.call("storage_get", storage).catch((error) => error.code);
      yield { type: "state.updated", data: { scope: "conversation", key: "last", value: context.input.text } };
      yield reply(JSON.stringify({ ...counts, shown, last: context.state.conversation.last ?? null, refused }));
      yield completed();
    },
    capture: async function* (context, host) {
      const payload = { url: context.input.text, kind: "image", name: "chart.png" };
      const answer = await host.call("capture_file", payload).catch((error) => error);
      if (answer.file_id === undefined) yield reply(answer.code + ": " + answer.message);
      else yield reply("Here it is.", [answer.file_id]);
      yield completed();
    },
    order: async function* (context, host) {
      const payload = { model_id: "order", query: context.input.text, documents: ["a", "b"], top_n: 1 };
      yield reply(JSON.stringify(await host.call("rerank", payload)));
      yield completed();
    },
  },
});
`;

function bound(runner: string, more: object = {}) {
  const id = `plugin:acme/keeper/${runner}`;
  return { id: runner, runner: { id }, runner_config: { [id]: {} }, ...more };
}

const requests: string[] = [];
const files = createServer((request, response) => {
  if (request.method === "GET") {
    response.end(PICTURE);
    return;
  }
  request.setEncoding("utf8");
  request.on("data", (text: string) => requests.push(text));
  request.on("end", () => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ results: [{ index: 1, relevance_score: 0.7 }] }));
  });
});

let packages: Awaited<ReturnType<typeof withTempDir>>;
let place: Awaited<ReturnType<typeof withTempDir>>;
let service: ComposedService;
let host: string;

async function start(): Promise<ComposedService> {
  return startService({
    directory: place.path,
    backend: new FakeBoxBackend(),
    settings: {
      plugins: { directory: packages.path },
      outbound: { allowed_private_hosts: [host] },
      models: [{ id: "order", type: "rerank", base_url: `http://${host}/v1`, model: "r" }],
      default_pipeline: "default",
      pipelines: [
        bound("default"),
        { ...bound("default"), id: "second" },
        bound("capture"),
        bound("order", { policy: { allowed_model_uuids: ["order"] } }),
      ],
    },
  });
}

beforeAll(async () => {
  await new Promise<void>((resolve) => {
    files.listen(0, "127.0.0.1", resolve);
  });
  host = `127.0.0.1:${portOf(files.address())}`;
  packages = await withTempDir();
  place = await withTempDir();
  await writePackage(packages.path, {
    id: "acme/keeper",
    entry: KEEPER,
    runners: {
      default: { permissions: { storage: ["workspace"] } },
      capture: { permissions: { files: ["capture"] } },
      order: { permissions: { models: ["rerank"] } },
    },
  });
  service = await start();
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
  await packages[Symbol.asyncDispose]();
  await new Promise((resolve) => files.close(resolve));
});

function portOf(address: AddressInfo | string | null): number {
  if (typeof address === "object" && address !== null) return address.port;
  throw new Error("The server does not listen.");
}

async function say(text: string, chat: object = {}, pipeline = "default"): Promise<unknown> {
  const run = await service.send({
    pipeline,
    chat: { launcher_id: "1", sender_id: "ann", ...chat },
    input: { text },
  });
  return run.message === null ? run.error : JSON.parse(run.message.content);
}

describe("state of a package's runner", () => {
  it("is kept by scope across chats, bindings and restarts, and shown at the start of the next run", async () => {
    const first = { conversation: 1, actor: 1, runner: 1, shown: 0, last: null, refused: "unauthorized" };
    expect(await say("one")).toEqual(first);
    expect(await say("two")).toMatchObject({ conversation: 2, actor: 2, runner: 2, shown: 1, last: "one" });
    expect(await say("three", { launcher_id: "2" })).toMatchObject({ conversation: 1, actor: 3, runner: 3 });
    expect(await say("four", { thread_id: "t" })).toMatchObject({ conversation: 1, actor: 4, shown: 0 });
    expect(await say("five", { sender_id: "bob" })).toMatchObject({ conversation: 3, actor: 1, runner: 5 });
    expect(await say("six", {}, "second")).toEqual(first);
    await service[Symbol.asyncDispose]();
    service = await start();
    expect(await say("seven")).toMatchObject({ conversation: 4, actor: 5, runner: 6, last: "five" });
  });
});

describe("a file that a package's runner captures", () => {
  it("is a delivery of the run, byte for byte", async () => {
    const run = await service.send({
      pipeline: "capture",
      chat: { launcher_id: "1" },
      input: { text: `http://${host}/x` },
    });
    const [delivery] = run.deliveries;
    const sha256 = createHash("sha256").update(PICTURE).digest("hex");
    expect(delivery).toMatchObject({ name: "chart.png", kind: "image", mime_type: "image/png", sha256 });
    const content = await service.fetch(delivery?.url ?? "");
    expect(Buffer.from(await content.arrayBuffer())).toEqual(PICTURE);
  });

  it("is refused with the reason where its address is not public", async () => {
    const run = await service.send({
      pipeline: "capture",
      chat: { launcher_id: "1" },
      input: { text: "http://127.0.0.1:9/x" },
    });
    expect(run.message?.content).toMatch(/^invalid_argument: /);
    expect(run.deliveries).toEqual([]);
  });
});

describe("a rerank model", () => {
  it("orders the documents of a package's runner", async () => {
    expect(await say("Which?", {}, "order")).toEqual([{ index: 1, score: 0.7 }]);
    expect(JSON.parse(requests.join(""))).toEqual({
      model: "r",
      query: "Which?",
      documents: ["a", "b"],
      top_n: 1,
    });
  });
});
