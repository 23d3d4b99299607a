/**
 * Two tenants on one service: with ids of the other one every route answers as if they did not exist, and no list, body
 * or key of one reaches what the other has (api §1.3, box §16.4).
 */
import { once } from "node:events";
import { IncomingMessage } from "node:http";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { z } from "zod";
import { runSchema } from "../../../src/domain/run.js";
import { CONTRACTS } from "../../../src/http/contracts.js";
import type { RouteContract } from "../../../src/http/route.js";
import { FakeBoxBackend } from "../../fakes/fake-box-backend.js";
import { after, calls, ScriptedModel, text } from "../../fakes/scripted-model.js";
import { exports, late, outboxOf } from "../../support/agent-script.js";
import { type ComposedService, onePipeline, standIn, startService } from "../../support/composed-service.js";
import { json } from "../../support/http-service.js";

const OWNER = "owner-tenant-admin-0123456789abcdefgh";
const STRANGERS = [
  { role: "client", key: "other-tenant-client-0123456789abcdefg" },
  { role: "admin", key: "other-tenant-admin-0123456789abcdefgh" },
] as const;
const [CLIENT, ADMIN] = STRANGERS;

/** Words that only the owner may see. */
const CANARY = "canary-of-the-owner";
const CHAT = { launcher_id: CANARY };
const BUSY = { launcher_id: "busy-chat" };

interface Ids {
  /** Of a message, of an event, and one that goes on. */
  readonly runs: readonly string[];
  readonly delivery: string;
  readonly upload: string;
  readonly session: string;
  readonly job: string;
}

/** Of the right form, and of nobody. */
const UNKNOWN: Ids = {
  runs: [
    "run_00000000000000000000000000",
    "run_00000000000000000000000001",
    "run_00000000000000000000000002",
  ],
  delivery: "file_00000000000000000000000000",
  upload: "file_00000000000000000000000001",
  session: "ses_00000000000000000000000000",
  job: "default",
};

interface Ask {
  readonly path: string;
  readonly init?: RequestInit;
}

type Case = (ids: Ids) => readonly Ask[];

const onRuns =
  (rest: string, init?: RequestInit): Case =>
  ({ runs }) =>
    runs.map((run) => ({ path: `/v1/runs/${run}${rest}`, ...(init === undefined ? {} : { init }) }));
const onFiles =
  (rest: string, init: RequestInit = {}): Case =>
  ({ delivery, upload: file }) =>
    [delivery, file].map((id) => ({ path: `/v1/files/${id}${rest}`, init }));
const onSession =
  (rest: string, init: RequestInit = {}): Case =>
  ({ session }) => [{ path: `/v1/sessions/${session}${rest}`, init }];
const onJob =
  (rest: string, init: RequestInit = {}): Case =>
  ({ session, job }) => [{ path: `/v1/sessions/${session}/jobs/${job}${rest}`, init }];
const message = (file: string, more: object = {}): RequestInit =>
  json({ chat: { launcher_id: "b" }, input: { contents: [{ type: "file_id", file_id: file }] }, ...more });
const onContents =
  (path: string, more: object = {}): Case =>
  ({ delivery, upload: file }) =>
    [delivery, file].map((id) => ({ path, init: message(id, more) }));

/** A request with ids for every route that takes one. */
const CASES: Readonly<Record<string, Case>> = {
  "post /v1/runs": onContents("/v1/runs"),
  "post /v1/events": onContents("/v1/events", { event_type: "message.received" }),
  "get /v1/runs/:id": onRuns(""),
  "get /v1/runs/:id/events": onRuns("/events"),
  "post /v1/runs/:id/cancel": onRuns("/cancel", json({ queue: "clear" })),
  "post /v1/runs/:id/steer": onRuns("/steer", json({ text: "Hello" })),
  "get /v1/runs/:id/steering": onRuns("/steering"),
  "post /v1/runs/:id/retry": onRuns("/retry", json({})),
  "post /v1/runs/:id/deliveries/:file_id/ack": ({ runs, delivery }) =>
    runs.map((run) => ({
      path: `/v1/runs/${run}/deliveries/${delivery}/ack`,
      init: json({ state: "failed" }),
    })),
  "get /v1/files/:id": onFiles(""),
  "delete /v1/files/:id": onFiles("", { method: "DELETE" }),
  "get /v1/files/:id/content": onFiles("/content"),
  "get /v1/files/:id/link": onFiles("/link"),
  "get /v1/links/:id": ({ delivery, upload: file }) =>
    [delivery, file].map((id) => ({ path: `/v1/links/${id}?token=${ownToken}` })),
  "get /v1/sessions/:id": onSession(""),
  "delete /v1/sessions/:id": onSession("?force=true", { method: "DELETE" }),
  "post /v1/sessions/:id/stop": onSession("/stop", json({})),
  "get /v1/sessions/:id/files": onSession("/files"),
  "get /v1/sessions/:id/files/content": onSession("/files/content?path=a.txt"),
  "put /v1/sessions/:id/files/content": onSession("/files/content?path=a.txt", {
    method: "PUT",
    headers: { "content-type": "application/octet-stream" },
    body: "x",
  }),
  "delete /v1/sessions/:id/files/content": onSession("/files/content?path=a.txt", { method: "DELETE" }),
  "post /v1/sessions/:id/exec": onSession("/exec", json({ command: "true" })),
  "post /v1/sessions/:id/jobs": onSession("/jobs", json({ command: "true" })),
  "get /v1/sessions/:id/jobs": onSession("/jobs"),
  "get /v1/sessions/:id/jobs/:job": onJob(""),
  "delete /v1/sessions/:id/jobs/:job": onJob("", { method: "DELETE" }),
  "post /v1/sessions/:id/jobs/:job/stdin": onJob("/stdin", json({ data: "x" })),
  "get /v1/sessions/:id/jobs/:job/output": onJob("/output"),
  "get /v1/sessions/:id/terminal": onSession("/terminal"),
};

/** Routes that answer of what the tenant has, or of the service; none takes an id of a single thing. */
const WITHOUT_IDS = [
  "get /v1/runs",
  "post /v1/files",
  "get /v1/files",
  "get /v1/sessions",
  "get /v1/boxes/status",
  "get /v1/runners",
  "get /healthz",
  "get /readyz",
  "get /metrics",
  "get /openapi.json",
  "get /",
];

const nameOf = ({ method, path }: RouteContract): string => `${method} ${path}`;

let service: ComposedService;
let model: ScriptedModel;
let ids: Ids;
let endBusy: () => void = () => undefined;
/** Opens a file of the stranger. */
let ownToken = "";
let before: readonly unknown[] = [];

const deliveredId = z.string().startsWith("file_");
const idOf = z.looseObject({ id: z.string() });
const linkOf = z.looseObject({ url: z.string() });

async function ask(key: string, { path, init = {} }: Ask): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${key}`);
  return service.fetch(path, { ...init, headers });
}

async function upload(key: string): Promise<string> {
  const body = new FormData();
  body.append("file", new File([CANARY], "a.txt"));
  const answer = await ask(key, { path: "/v1/files", init: { method: "POST", body } });
  return idOf.parse(await answer.json()).id;
}

async function post(
  key: string,
  path: string,
  body: unknown,
  more: Record<string, string> = {},
): Promise<Response> {
  const init = json(body);
  return ask(key, { path, init: { ...init, headers: { ...init.headers, ...more } } });
}

/** All that the owner sees of what strangers ask for. */
async function ownersView(): Promise<readonly unknown[]> {
  const paths = [
    "/v1/runs",
    ...ids.runs.map((run) => `/v1/runs/${run}`),
    "/v1/files",
    `/v1/files/${ids.upload}`,
    "/v1/sessions",
    `/v1/sessions/${ids.session}`,
    `/v1/sessions/${ids.session}/jobs`,
  ];
  return Promise.all(paths.map(async (path) => (await ask(OWNER, { path })).json()));
}

beforeAll(async () => {
  const isOver = new Promise<void>((resolve) => {
    endBusy = resolve;
  });
  model = new ScriptedModel([
    late((request) =>
      calls([{ name: "write", arguments: { path: `${outboxOf(request)}/a.txt`, content: CANARY } }]),
    ),
    exports("a.txt"),
    text(CANARY),
    text(CANARY),
    after(isOver, text(CANARY)),
    text("mine"),
    text("mine"),
    text("mine"),
  ]);
  const keys = STRANGERS.map((stranger) => ({ ...stranger, tenant: "other" }));
  service = await startService({
    models: new Map([["m1", model]]),
    backend: new FakeBoxBackend(),
    settings: {
      server: { port: 0, keys: [{ key: OWNER, tenant: "main", role: "admin" }, ...keys] },
      models: [standIn("m1")],
      pipelines: [{ ...onePipeline("m1"), events: ["message.received", "group.member_joined"] }],
    },
  });
  const first = await post(
    OWNER,
    "/v1/runs",
    { chat: CHAT, input: { text: CANARY } },
    { "idempotency-key": "k-1" },
  );
  const run = runSchema.parse(await first.json());
  const event = await post(OWNER, "/v1/events", { event_type: "group.member_joined", chat: CHAT });
  const busy = await post(OWNER, "/v1/runs", { chat: BUSY, input: { text: CANARY }, wait: false });
  const delivery = deliveredId.parse(run.deliveries[0]?.id);
  const session = run.session?.id ?? "";
  const job = await post(OWNER, `/v1/sessions/${session}/jobs`, { command: "sleep 1000" });
  ids = {
    runs: [run.id, idOf.parse(await event.json()).id, idOf.parse(await busy.json()).id],
    delivery,
    upload: await upload(OWNER),
    session,
    job: idOf.parse(await job.json()).id,
  };
  await vi.waitUntil(() => model.requests.length === 5, 5000);
  const own = await upload(CLIENT.key);
  const link = linkOf.parse(await (await ask(CLIENT.key, { path: `/v1/files/${own}/link` })).json());
  ownToken = new URL(link.url, service.url).searchParams.get("token") ?? "";
  before = await ownersView();
});
afterAll(async () => {
  endBusy();
  await service[Symbol.asyncDispose]();
});

/** The status and the error, without what differs from request to request. */
async function verdict(response: Response): Promise<{ readonly status: number; readonly body: string }> {
  const body = (await response.text())
    .replaceAll(/req_\w+/g, "req_")
    .replaceAll(/(run|file|ses)_\w+/g, "$1_");
  return { status: response.status, body };
}

/** The answer to a wish for a WebSocket. */
async function refusedUpgrade(key: string, path: string): Promise<number> {
  const socket = new WebSocket(`${service.url.replace("http", "ws")}${path}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  socket.on("error", () => undefined);
  const told: readonly unknown[] = await once(socket, "unexpected-response");
  socket.terminate();
  return told[1] instanceof IncomingMessage ? (told[1].statusCode ?? 0) : 0;
}

it("knows for every route whether it takes an id, and how", () => {
  expect([...Object.keys(CASES), ...WITHOUT_IDS].toSorted()).toEqual(CONTRACTS.map(nameOf).toSorted());
  expect(WITHOUT_IDS.filter((name) => name.includes(":"))).toEqual([]);
});

describe.each(STRANGERS)("a $role key of another tenant", ({ role, key }) => {
  it.each(CONTRACTS.filter((route) => nameOf(route) in CASES))(
    "gets the answer for an id of nobody from $method $path",
    async (route) => {
      const make = CASES[nameOf(route)] ?? (() => []);
      const asked = make(ids);
      const unknown = make(UNKNOWN);
      expect(asked.length).toBeGreaterThan(0);
      const status = role === "client" && route.access === "admin" ? 403 : 404;
      for (const [index, request] of asked.entries()) {
        const given = await verdict(await ask(key, request));
        expect(given).toMatchObject({ status });
        expect(given.body).not.toContain(CANARY);
        const nobodys = unknown[index] ?? request;
        expect(given).toEqual(await verdict(await ask(key, nobodys)));
      }
    },
  );

  it("opens no terminal", async () => {
    const status = role === "client" ? 403 : 404;
    expect(await refusedUpgrade(key, `/v1/sessions/${ids.session}/terminal`)).toBe(status);
  });

  it("lists nothing of the owner, whatever is asked for", async () => {
    const paths = [
      "/v1/runs",
      `/v1/runs?session=${ids.session}`,
      `/v1/runs?chat=person:${CANARY}`,
      ...ids.runs.map((run) => `/v1/runs?after=${run}`),
      "/v1/files",
      `/v1/files?after=${ids.upload}`,
      "/v1/sessions",
      `/v1/sessions?after=${ids.session}`,
      "/v1/boxes/status",
      "/metrics",
    ];
    const own = [...ids.runs, ids.delivery, ids.upload, ids.session, CANARY];
    for (const path of paths) {
      const told = await (await ask(key, { path })).text();
      for (const secret of own) expect(told.includes(secret) && !path.includes(secret)).toBe(false);
    }
  });
});

describe("the same names in two tenants", () => {
  it("are two runs for one idempotency key", async () => {
    const body = { chat: CHAT, input: { text: "Something else" } };
    const answer = await post(CLIENT.key, "/v1/runs", body, { "idempotency-key": "k-1" });
    expect(answer.status).toBe(200);
    const run = runSchema.parse(await answer.json());
    expect(ids.runs).not.toContain(run.id);
  });

  it("are two conversations of one chat: no history is shared, and no message joins the other's run", async () => {
    const known = await post(CLIENT.key, "/v1/runs", { chat: CHAT, input: { text: "What did I say?" } });
    expect(runSchema.parse(await known.json()).status).toBe("completed");
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain("Something else");
    const joined = await post(CLIENT.key, "/v1/runs", { chat: BUSY, input: { text: "And I?" } });
    expect(runSchema.parse(await joined.json()).status).toBe("completed");
    const told = model.requests
      .slice(5)
      .map(({ messages }) => messages.filter(({ role }) => role !== "system"));
    expect(JSON.stringify(told).replaceAll(`_${CANARY}`, "")).not.toContain(CANARY);
  });
});

it("leaves all that the owner has as it was", async () => {
  expect(await ownersView()).toEqual(before);
  expect(await (await ask(ADMIN.key, { path: "/v1/sessions" })).text()).not.toContain(ids.session);
});
