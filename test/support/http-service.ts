/** The HTTP surface over real sockets, with runs that a test directs and everything else in memory. */
import { type MemoryStores, openMemoryStores } from "../../src/adapters/memory/open-memory-stores.js";
import type { HandLease } from "../../src/box/box-lease.js";
import { type OperatorSettings, resolveBoxSettings } from "../../src/box/box-policy.js";
import { BoxService, type LeaseOptions } from "../../src/box/box-service.js";
import { Jobs } from "../../src/box/jobs.js";
import { Terminals } from "../../src/box/terminals.js";
import type { SessionRecord } from "../../src/domain/session.js";
import { createApp, type HttpSettings } from "../../src/http/create-app.js";
import { type HttpListener, listen } from "../../src/http/listen.js";
import type { PartReadiness } from "../../src/http/readiness.js";
import { SecretMask } from "../../src/lib/secret-mask.js";
import type { Metrics } from "../../src/ports/metrics.js";
import { FileService } from "../../src/runs/file-service.js";
import { SessionService } from "../../src/runs/session-service.js";
import { createExecTool } from "../../src/tools/native/exec.js";
import { CountingIds } from "../fakes/counting-ids.js";
import { FakeBoxBackend } from "../fakes/fake-box-backend.js";
import type { FakeCommand } from "../fakes/fake-box-commands.js";
import { FakeClock } from "../fakes/fake-clock.js";
import { FakeRunService } from "../fakes/fake-run-service.js";
import { KeptLogger } from "../fakes/kept-logger.js";
import { ScriptedRunner } from "../fakes/scripted-runner.js";

export const ADMIN_KEY = "admin-key-canary-0123456789abcdefgh";
export const CLIENT_KEY = "client-key-canary-0123456789abcdefg";
export const OTHER_KEY = "other-tenant-canary-0123456789abcde";
export const OTHER_ADMIN_KEY = "other-admin-canary-0123456789abcdef";

export const KEYS: HttpSettings["keys"] = [
  { key: ADMIN_KEY, tenant: "main", role: "admin" },
  { key: CLIENT_KEY, tenant: "main", role: "client" },
  { key: OTHER_KEY, tenant: "other", role: "client" },
  { key: OTHER_ADMIN_KEY, tenant: "other", role: "admin" },
];

export interface HttpService extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly runs: FakeRunService;
  readonly files: FileService;
  readonly stores: MemoryStores;
  readonly boxes: BoxService;
  readonly terminals: Terminals;
  readonly backend: FakeBoxBackend;
  readonly clock: FakeClock;
  readonly logger: KeptLogger;
  readonly listener: HttpListener;
  /** Set by tests of readiness. */
  parts: PartReadiness[];
  /** Requests go out with the client key unless `key` says otherwise; null = none. */
  fetch(path: string, init?: RequestInit & { readonly key?: string | null }): Promise<Response>;
}

export interface HttpServiceOptions extends Partial<HttpSettings> {
  /** Of the boxes. */
  readonly boxes?: Partial<OperatorSettings>;
  /** What commands in boxes do, besides the few that the fake engine knows. */
  readonly commands?: FakeCommand;
}

export async function startHttpService(options: HttpServiceOptions = {}): Promise<HttpService> {
  const { boxes: boxSettings = {}, commands, ...settings } = options;
  const clock = new FakeClock();
  const ids = new CountingIds();
  const runs = new FakeRunService();
  const logger = new KeptLogger();
  const stores = openMemoryStores({ clock });
  const files = new FileService({
    ...stores,
    clock,
    ids,
    sniffMimeType: async (name) => (name.endsWith(".png") ? "image/png" : "text/html"),
    linkSecret: "link-secret-canary",
  });
  const backend = new FakeBoxBackend(commands === undefined ? {} : { commands });
  const boxes = new BoxService(
    { ...stores, backend, clock, ids, logger },
    {
      enabled: true,
      settings: resolveBoxSettings("default", { image: "berth-box:slim", ...boxSettings }),
      profile: "default",
      maxBoxes: 3,
      pauseAfterSec: 0,
      idleTtlSec: 300,
      removeAfterSec: 0,
      warmPool: 0,
      workspaceTtlDays: 14,
    },
  );
  const exec = createExecTool({ outputChars: 4000 });
  const lease = (session: SessionRecord, call: LeaseOptions): Promise<HandLease> =>
    boxes.lease(session, call);
  const processes = { clock, ids, logger, lease };
  const mask = new SecretMask(["secret-word-canary"]);
  const jobs = new Jobs({ ...processes, mask }, { maxRunning: 4, maxEnded: 8, endedTtlSec: 300 });
  const terminals = new Terminals(processes, { maxOpen: 3 });
  const sessions = new SessionService({ ...stores, boxes, jobs, terminals, ids, exec });
  const parts: PartReadiness[] = [{ name: "store", ok: true, reason: null }];
  const service = { parts };
  const { app, streams, upgrades } = createApp({
    runs,
    files,
    sessions,
    boxes,
    runners: { listUncached: async () => [new ScriptedRunner()] },
    probeParts: async () => service.parts,
    metrics: quietMetrics,
    logger,
    clock,
    ids,
    settings: {
      version: "0.0.0",
      keys: KEYS,
      publicUrl: null,
      jsonBodyBytes: 32 * 1024 * 1024,
      requestsPerMinute: 100_000,
      runsPerMinute: 100_000,
      eventStreams: 5,
      authFailuresPerMinute: 1000,
      inbound: { maxFileBytes: 1000, maxFiles: 3, maxTotalBytes: 2000 },
      ...settings,
    },
  });
  const listener = await listen(app, { host: "127.0.0.1", port: 0, streams, upgrades, ids });
  return Object.assign(service, {
    url: listener.url,
    port: listener.port,
    runs,
    files,
    stores,
    boxes,
    terminals,
    backend,
    clock,
    logger,
    listener,
    fetch: async (path: string, init: RequestInit & { readonly key?: string | null } = {}) => {
      const { key = CLIENT_KEY, headers, ...rest } = init;
      const all = new Headers(headers);
      if (key !== null && !all.has("authorization")) all.set("authorization", `Bearer ${key}`);
      return fetch(`${listener.url}${path}`, { ...rest, headers: all });
    },
    [Symbol.asyncDispose]: async () => {
      await listener.close(0);
      await jobs[Symbol.asyncDispose]();
      await terminals[Symbol.asyncDispose]();
      await boxes[Symbol.asyncDispose]();
    },
  });
}

/** A body of JSON with its header. */
export function json(value: unknown): { method: string; headers: Record<string, string>; body: string } {
  return { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

export const HELLO = { chat: { launcher_id: "42" }, input: { text: "Hello" } } as const;

const quietMetrics: Metrics = {
  runEnded: () => {},
  toolCalled: () => {},
  requestHandled: () => {},
  fileExported: () => {},
  text: async () => ({ contentType: "text/plain; version=0.0.4", body: "berth_up 1\n" }),
};
