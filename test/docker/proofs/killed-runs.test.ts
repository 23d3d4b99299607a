/** kill -9 of the service at random moments of runs with tools and exports: nothing accepted is lost (runs §14.6, §20.4, design §6). */
import { createHash, randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import Docker from "dockerode";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type ReceivedRequest,
  reply,
  type ScriptedModelServer,
  type ServerStep,
  startScriptedModelServer,
} from "../../fakes/scripted-model-server.js";
import { onePipeline } from "../../support/composed-service.js";
import { removeServiceDirectory } from "../../support/data-directory.js";
import { hasEngine } from "../../support/engine.js";
import { prove, sized } from "../../support/proof.js";
import { streamEvents } from "../../support/read-events.js";
import { removeOwned, serviceIdOf } from "../../support/service-boxes.js";
import { makeDirectory, type ServiceProcess, startServiceProcess } from "../../support/service-process.js";

const KILLS = sized(5, 200);
const CHATS = 4;
const SPREAD_MS = 4000;
const SETTLE_MS = 120_000;
const STEPS = 20_000;
/** Taken in by the run that was going on. */
const ABSORBED = "absorbed";
const PROOF = "killed runs";
const TERMINAL: ReadonlySet<string> = new Set(["completed", "failed", "cancelled", "timeout"]);
const ENGINE = new Docker();

const answerSchema = z.looseObject({
  id: z.string(),
  status: z.string(),
  absorbed_by: z.string().optional(),
  place: z.string().optional(),
  message: z.looseObject({ content: z.string() }).nullish(),
  deliveries: z.array(z.looseObject({ id: z.string() })).default([]),
});
const deliverySchema = z.looseObject({ id: z.string(), sha256: z.string() });
type Delivery = z.infer<typeof deliverySchema>;

/** What the client was told; it outlives every process of the service. */
class Client {
  url = "";
  /** Bodies by idempotency key whose answer never came: sent again to the next process. */
  readonly unanswered = new Map<string, string>();
  /** Ids that an answer named. */
  readonly accepted = new Set<string>();
  readonly deliveries = new Map<string, Delivery>();
  readonly repeated: string[] = [];
  readonly #seen = new Map<string, number>();
  /** Of the newest message of each chat. */
  readonly #newest = new Map<number, string>();

  /** A message, and while its run goes on another one; in a chat that is still at work nothing, so that no queue builds up. */
  async talk(launcher: number, signal: AbortSignal): Promise<void> {
    if (await this.#isAtWork(launcher)) return;
    const first = await this.#post(randomUUID(), { chat: launcher, text: "Work" }, signal);
    await Promise.all([this.follow(first, signal), this.#interrupt(launcher, signal)]);
  }

  async #interrupt(launcher: number, signal: AbortSignal): Promise<void> {
    await delay(100, undefined, { signal });
    await this.#post(randomUUID(), { chat: launcher, text: "And more" }, signal);
  }

  async repeatUnanswered(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.unanswered].map(([key, body]) => this.#send(key, body, signal)));
  }

  /** Reads on after the last event it saw. */
  async follow(id: string, signal: AbortSignal): Promise<void> {
    const after = this.#seen.get(id) ?? 0;
    const response = await fetch(`${this.url}/v1/runs/${id}/events`, {
      headers: { "last-event-id": String(after) },
      signal,
    });
    for await (const event of streamEvents(response)) {
      const last = this.#seen.get(id) ?? 0;
      if (event.sequence !== last + 1) this.repeated.push(`${id}: event ${event.sequence} after ${last}`);
      this.#seen.set(id, event.sequence);
      if (event.type === "delivery.created") this.#keep(deliverySchema.parse(event.data));
    }
  }

  async get(id: string): Promise<z.infer<typeof answerSchema>> {
    return answerSchema.parse(await (await fetch(`${this.url}/v1/runs/${id}`)).json());
  }

  #keep(delivery: Delivery): void {
    if (this.deliveries.has(delivery.id)) this.repeated.push(`delivery ${delivery.id}`);
    this.deliveries.set(delivery.id, delivery);
  }

  async #isAtWork(launcher: number): Promise<boolean> {
    const newest = this.#newest.get(launcher);
    if (newest === undefined) return false;
    const { status, place } = await this.get(newest);
    return place !== "history" && !TERMINAL.has(status);
  }

  async #post(
    key: string,
    { chat, text }: { readonly chat: number; readonly text: string },
    signal: AbortSignal,
  ): Promise<string> {
    const body = JSON.stringify({ chat: { launcher_id: `chat-${chat}` }, input: { text }, wait: false });
    this.unanswered.set(key, body);
    const id = await this.#send(key, body, signal);
    this.#newest.set(chat, id);
    return id;
  }

  async #send(key: string, body: string, signal: AbortSignal): Promise<string> {
    const headers = { "content-type": "application/json", "idempotency-key": key };
    const response = await fetch(`${this.url}/v1/runs`, { method: "POST", headers, body, signal });
    const { id } = answerSchema.parse(await response.json());
    this.unanswered.delete(key);
    this.accepted.add(id);
    return id;
  }
}

/** Writes and exports two files, one after the other, then answers; whatever the round, it goes on from what it sees. */
const worker: ServerStep = (request, response) => {
  const messages = request.body.messages ?? [];
  const done = messages.length - 1 - messages.findLastIndex(({ role }) => role === "user");
  const name = done < 4 ? "a" : "b";
  const make = { command: `echo ${randomUUID()} > "$BERTH_OUTBOX/${name}.txt"` };
  const call = (tool: string, parameters: object): ServerStep =>
    reply({
      calls: [{ id: `call_${done}`, function: { name: tool, arguments: JSON.stringify(parameters) } }],
    });
  if (done >= 8) return reply({ content: "Done." })(request, response);
  return done % 4 === 0
    ? call("exec", make)(request, response)
    : call("export_box_files", { paths: [`${outboxOf(request)}/${name}.txt`] })(request, response);
};

function outboxOf(request: ReceivedRequest): string {
  const paths = JSON.stringify(request.body.messages).match(/\/workspace\/outbox\/run_[A-Za-z0-9]+/g);
  return paths?.at(-1) ?? "/workspace/outbox";
}

describe.skipIf(!hasEngine())(`a service that is killed ${KILLS} times`, () => {
  const client = new Client();
  let directory: string;
  let model: ScriptedModelServer;
  let service: ServiceProcess | null = null;

  const start = async (): Promise<string> => {
    service = await startServiceProcess({
      directory,
      settings: {
        boxes: { image: "berth-box:slim" },
        models: [{ id: "m1", base_url: model.baseUrl, model: "scripted" }],
        pipelines: [onePipeline("m1")],
      },
    });
    return service.url;
  };

  beforeAll(async () => {
    directory = await makeDirectory();
    model = await startScriptedModelServer(Array.from({ length: STEPS }, () => worker));
  });
  afterAll(async () => {
    await service?.kill("SIGTERM");
    await removeOwned(ENGINE, await serviceIdOf(directory));
    await service?.[Symbol.asyncDispose]();
    await model[Symbol.asyncDispose]();
    await removeServiceDirectory(directory);
  });

  it("loses no accepted message and no delivery it told of, and tells of nothing twice", {
    timeout: KILLS * 30_000 + SETTLE_MS,
  }, async () => {
    for (let kill = 0; kill < KILLS; kill += 1) {
      client.url = await start();
      const gone = new AbortController();
      const talks = talkInAllChats(client, gone.signal);
      await delay(Math.random() * SPREAD_MS);
      await service?.kill("SIGKILL");
      gone.abort();
      await Promise.all(talks);
    }
    client.url = await start();
    const signal = AbortSignal.timeout(SETTLE_MS);
    await client.repeatUnanswered(signal);
    const ends = await findEnds(client, signal);
    for (const [id, end] of ends) if (end !== ABSORBED) await client.follow(id, signal);

    expect(client.repeated).toEqual([]);
    expect(client.unanswered.size).toBe(0);
    expect(await findLost(client)).toEqual([]);
    expect(readFaults(directory)).toEqual([]);
    count("kills", KILLS);
    count("messages that were accepted", ends.size);
    for (const end of new Set(ends.values()))
      count(`of them ${end}`, [...ends.values()].filter((other) => other === end).length);
    count("deliveries that were told of and downloaded", client.deliveries.size);
  });
});

function count(what: string, value: number): void {
  prove({ proof: PROOF, what, value, unit: "count" });
}

/** New messages in every chat, the ones whose answer never came once more, and the streams that were cut. */
function talkInAllChats(client: Client, signal: AbortSignal): readonly Promise<unknown>[] {
  const cut = [...client.accepted].slice(-2 * CHATS);
  const talks = [
    client.repeatUnanswered(signal),
    ...cut.map((id) => client.follow(id, signal)),
    ...Array.from({ length: CHATS }, (_item, chat) => client.talk(chat, signal)),
  ];
  return talks.map((talk) => talk.catch(() => undefined));
}

/** How every accepted message ended; waits until it has. */
async function findEnds(client: Client, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const ends = new Map<string, string>();
  while (ends.size < client.accepted.size) {
    for (const id of client.accepted) {
      if (ends.has(id)) continue;
      const { status, place } = await client.get(id);
      if (place === "history") ends.set(id, ABSORBED);
      else if (TERMINAL.has(status)) ends.set(id, status);
    }
    await delay(100, undefined, { signal });
  }
  return ends;
}

/** Deliveries that do not download with their sha256. */
async function findLost(client: Client): Promise<readonly string[]> {
  const lost: string[] = [];
  for (const { id, sha256 } of client.deliveries.values()) {
    const response = await fetch(`${client.url}/v1/files/${id}/content`);
    const bytes = Buffer.from(await response.arrayBuffer());
    if (createHash("sha256").update(bytes).digest("hex") !== sha256) lost.push(`${id}: ${response.status}`);
  }
  return lost;
}

const rowsSchema = z.array(z.object({ fault: z.string() }));

/** What the ledger holds that it may not: runs without an end, ends without or with two events, gaps. */
function readFaults(directory: string): readonly string[] {
  const database = new Database(join(directory, "data", "berth.db"), { readonly: true });
  const faults = [
    `select 'open run ' || id || ' ' || state as fault from run
     where state not in ('completed', 'failed', 'cancelled', 'timeout')
     and id not in (select id from steering_item where place = 'history')`,
    `select 'terminal events of ' || run.id || ': ' || count(run_event.sequence) as fault from run
     left join run_event on run_event.run_id = run.id and run_event.type in ('run.completed', 'run.failed', 'run.cancelled')
     where run.state in ('completed', 'failed', 'cancelled', 'timeout')
     group by run.id having count(run_event.sequence) <> 1`,
    `select 'gap in the events of ' || run_id as fault from run_event
     group by run_id having count(*) <> max(sequence) or min(sequence) <> 1`,
    `select 'waiting message ' || id as fault from steering_item where place = 'waiting'`,
  ];
  try {
    return faults.flatMap((query) =>
      rowsSchema.parse(database.prepare(query).all()).map(({ fault }) => fault),
    );
  } finally {
    database.close();
  }
}
