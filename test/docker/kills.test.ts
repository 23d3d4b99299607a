/** kill -9 of the service at random moments, with chats, spare boxes and idle boxes on their way (box §11.11, §18.5). */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import Docker from "dockerode";
import { describe, expect, inject, it } from "vitest";
import { z } from "zod";
import { text } from "../fakes/scripted-model.js";
import { runs, saysStdout } from "../support/agent-script.js";
import { removeServiceDirectory } from "../support/data-directory.js";
import { proves } from "../support/proves.js";
import { ownedContainers, ownedVolumes, removeOwned, serviceIdOf } from "../support/service-boxes.js";
import { makeDirectory, type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { chatMessage, serviceForAll } from "../support/shared-service.js";

const KILLS = Number(process.env["KILLS"] ?? 20);
/** Services that are killed side by side: most of a round is spent on the next process. */
const VICTIMS = 3;
const SETTLE_MS = 60_000;
const WORK = "Work.\n```bash\necho line >> /workspace/lines.txt; wc -l < /workspace/lines.txt\n```";
const ENGINE = new Docker();

const recordsSchema = z.array(
  z.object({ container: z.string().nullable(), volume: z.string(), prepared: z.number() }),
);

/** Numbers below 1 that are the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function readRecords(directory: string): z.infer<typeof recordsSchema> {
  const database = new Database(join(directory, "data", "berth.db"), { readonly: true });
  try {
    return recordsSchema.parse(database.prepare("select container, volume, prepared from session").all());
  } finally {
    database.close();
  }
}

/** What is on the engine and in no record, and what is in a record and not on the engine. */
async function findDifferences(directory: string): Promise<readonly string[]> {
  const id = await serviceIdOf(directory);
  const containers = (await ownedContainers(ENGINE, id)).filter(
    ({ Labels: labels }) => labels["berth.purpose"] === undefined,
  );
  const found = new Set(containers.flatMap(({ Names: names }) => names.map((name) => name.slice(1))));
  const volumes = new Set(await ownedVolumes(ENGINE, id));
  const records = readRecords(directory);
  const named = new Set(records.flatMap(({ container }) => container ?? []));
  const kept = new Set(records.map(({ volume }) => volume));
  const prepared = records.filter((record) => record.prepared === 1).map(({ volume }) => volume);
  return [
    ...[...found].filter((name) => !named.has(name)).map((name) => `stray container ${name}`),
    ...[...named].filter((name) => !found.has(name)).map((name) => `missing container ${name}`),
    ...[...volumes].filter((name) => !kept.has(name)).map((name) => `stray volume ${name}`),
    ...prepared.filter((name) => !volumes.has(name)).map((name) => `missing volume ${name}`),
  ];
}

/** A chat's message, or the end of a session; whatever becomes of it when the service dies. */
async function bother(running: ServiceProcess, random: () => number): Promise<void> {
  const chat = chatMessage(String(Math.floor(random() * 6)), WORK);
  const isDeletion = random() < 0.2;
  try {
    if (!isDeletion) {
      const headers = { "content-type": "application/json" };
      await fetch(`${running.url}/v1/runs`, { method: "POST", headers, body: JSON.stringify(chat) });
      return;
    }
    const list = z.object({ data: z.array(z.object({ id: z.string() })) });
    const { data } = list.parse(await (await fetch(`${running.url}/v1/sessions`)).json());
    const id = data[Math.floor(random() * data.length)]?.id;
    if (id !== undefined) await fetch(`${running.url}/v1/sessions/${id}?force=true`, { method: "DELETE" });
  } catch {
    // The service was killed meanwhile.
  }
}

async function startVictim(directory: string): Promise<ServiceProcess> {
  const boxes = {
    image: "berth-box:slim",
    warm_pool: 2,
    max_boxes: 6,
    pause_after_sec: 1,
    idle_ttl_sec: 2,
    remove_after_sec: 4,
  };
  return startServiceProcess({ directory, settings: { boxes } });
}

/** One life: a process is bothered and killed at a random moment. */
async function liveAndDie(running: ServiceProcess, random: () => number): Promise<void> {
  const botherings = Array.from({ length: 5 }, async (_none, i) => {
    await delay(random() * 300 * i);
    await bother(running, random);
  });
  await delay(random() * 2500);
  await running.kill("SIGKILL");
  await Promise.all(botherings);
}

/** Kills a service of its own so often; each next process must leave on the engine what its records say. */
async function killAgainAndAgain(kills: number, seed: number): Promise<void> {
  const random = randomFrom(seed);
  const directory = await makeDirectory();
  try {
    for (let round = 0; round <= kills; round += 1) {
      await using service = await startVictim(directory);
      const where = `round ${round} of seed ${seed}`;
      await expect
        .poll(async () => [where, ...(await findDifferences(directory))], {
          timeout: SETTLE_MS,
          interval: 200,
        })
        .toEqual([where]);
      if (round < kills) await liveAndDie(service, random);
      else await service.kill("SIGTERM");
    }
  } finally {
    await removeOwned(ENGINE, await serviceIdOf(directory));
    await removeServiceDirectory(directory);
  }
}

describe.skipIf(!inject("dockerAvailable"))("services that are killed at random moments", () => {
  const other = serviceForAll();

  it("have after every restart the boxes of their records, and touch none of another service", async () => {
    proves("BOX-20", "BOX-22");
    const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
    using _model = other().script(
      text("ready"),
      runs("echo begun; sleep 25; echo whole"),
      saysStdout(),
      text("still here"),
    );
    expect((await other().send(chatMessage("other", "Begin"))).error).toBeNull();
    const running = other().send(chatMessage("other", "Work"));
    const victims = Array.from({ length: VICTIMS }, async (_none, i) =>
      killAgainAndAgain(Math.ceil((KILLS - i) / VICTIMS), seed + i),
    );
    const ends = await Promise.allSettled(victims);
    expect(ends).toEqual(ends.map(() => ({ status: "fulfilled", value: undefined })));
    const run = await running;
    expect(run).toMatchObject({ error: null, message: { content: "begun\nwhole\n" } });
    const [box] = await other().containers();
    expect((await other().send(chatMessage("other", "And now?"))).message?.content).toBe("still here");
    expect((await other().containers()).map(({ Id: id }) => id)).toEqual([box?.Id]);
  }, 400_000);
});
