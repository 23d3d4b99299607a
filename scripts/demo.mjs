/**
 * `npm run demo`: sends one real message with a table to the service, shows what happens, and saves the files that
 * come back. Uses the service at BERTH_URL, or on this machine at BERTH_PORT (default 8787), or starts one for the
 * time of the demo.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { exitCodeOf } from "./lib/commands.mjs";
import { readRunEvents } from "./lib/event-stream.mjs";
import { EXIT, Failure, runMain } from "./lib/failure.mjs";
import { parseJson } from "./lib/parse-json.mjs";
import { say } from "./lib/progress.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DEFAULT_URL = `http://127.0.0.1:${process.env["BERTH_PORT"] || 8787}`;

const TABLE = "月份,销量,退货\n一月,120,8\n二月,98,5\n三月,143,11\n四月,171,9\n五月,165,7\n六月,204,12\n";
// The offline demo model runs fenced blocks as they stand; a real model reads them as a proposal.
const MESSAGE = `Please draw the attached table as a chart.

\`\`\`python
import os
import pandas
import matplotlib.pyplot as plt

table = pandas.read_csv(os.environ["BERTH_INBOX"] + "/0/销量.csv", index_col="月份")
print(table.describe().round(1))
axes = table.plot(kind="bar", figsize=(8, 4.5), rot=0, title="上半年销量与退货")
axes.figure.tight_layout()
axes.figure.savefig(os.environ["BERTH_OUTBOX"] + "/销量图表.png", dpi=120)
\`\`\`
`;

/**
 * What the demo reads of a run object and of run events.
 * @typedef {{ id: string, name: string, bytes: number, sha256: string, url: string }} Delivery
 * @typedef {{ id: string, status: string, message?: { content?: string }, deliveries: Delivery[], session?: { id: string },
 *   error?: { code?: string, message?: string } | null }} Run
 * @typedef {{ tool_name?: string, text?: string, error?: string, duration_ms?: number, name?: string, bytes?: number,
 *   message?: string } & Partial<Omit<Run, "message">>} EventData
 */

/** @param {string} url */
async function answers(url) {
  try {
    return (await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2000) })).ok;
  } catch {
    return false;
  }
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

/** @returns {Promise<{ url: string, stop: (sessionId?: string) => Promise<void> }>} a service that answers */
async function reachService() {
  const given = process.env["BERTH_URL"];
  const url = (given || DEFAULT_URL).replace(/\/$/, "");
  if (await answers(url)) return { url, stop: () => Promise.resolve() };
  if (given) {
    const hint = "Next step: start it with `npm start`, or unset BERTH_URL to let the demo start one.";
    throw new Failure(`No service answers at ${url}.`, { hint, exitCode: EXIT.unavailable });
  }
  return startService();
}

async function startService() {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  say(`No service runs at ${DEFAULT_URL}; starting one at ${url} for the demo.\n`);
  const env = { ...process.env, BERTH_HOST: "127.0.0.1", BERTH_PORT: String(port) };
  const script = join(ROOT, "scripts/start.mjs");
  const service = spawn(process.execPath, [script], { env, stdio: ["ignore", "inherit", "inherit"] });
  const end = exitCodeOf(service, "npm start");
  const terminate = () => service.kill("SIGTERM");
  process.once("SIGINT", terminate).once("SIGTERM", terminate);
  while (!(await answers(url))) {
    const hasEnded = service.exitCode !== null || service.signalCode !== null;
    if (hasEnded) throw new Failure("The service did not start.", { exitCode: (await end) || 1 });
    await sleep(250);
  }
  return {
    url,
    /** @param {string | undefined} sessionId */
    async stop(sessionId) {
      // Nobody would come back for this box.
      if (sessionId !== undefined) {
        const path = `${url}/v1/sessions/${sessionId}?force=true`;
        await fetch(path, { method: "DELETE", headers: authorisation() });
      }
      terminate();
      await end;
    },
  };
}

/** @returns {Record<string, string>} */
function authorisation() {
  const key = process.env["BERTH_API_KEY"];
  return key ? { authorization: `Bearer ${key}` } : {};
}

/**
 * One line per event that a person wants to see; the others are left out.
 * @type {Record<string, ((data: EventData) => string) | undefined>}
 */
const EVENT_LINES = {
  "run.started": () => "The run has started.",
  "attachment.imported": () => "The table is in the box.",
  "tool.call.started": ({ tool_name = "tool" }) => `→ ${tool_name} …`,
  "tool.output": ({ text = "" }) => text.trimEnd().replace(/^/gm, "    "),
  "tool.call.completed": ({ tool_name = "tool", error = "done", duration_ms = 0 }) =>
    `← ${tool_name}: ${error} (${Math.round(duration_ms)} ms)`,
  "delivery.created": ({ name = "a file" }) => `Delivered: ${name}`,
  warning: ({ message = "" }) => `Warning: ${message}`,
};

/**
 * Sends the message and follows the run to its end.
 * @param {string} url
 * @returns {Promise<Run>}
 */
async function runMessage(url) {
  const contents = [
    {
      type: "file_base64",
      name: "销量.csv",
      mime_type: "text/csv",
      data: Buffer.from(TABLE).toString("base64"),
    },
  ];
  const answer = await fetch(`${url}/v1/runs`, {
    method: "POST",
    headers: { "content-type": "application/json", ...authorisation() },
    body: JSON.stringify({
      chat: { launcher_type: "person", launcher_id: "demo", sender_id: "demo" },
      input: { text: MESSAGE, contents },
      stream: true,
    }),
  });
  if (!answer.ok || answer.body === null) {
    throw new Failure(`The service refused the message (${answer.status}): ${await answer.text()}`);
  }
  /** @type {AsyncGenerator<import("./lib/event-stream.mjs").RunEvent<EventData>>} */
  const events = readRunEvents(answer.body);
  for await (const { type, data } of events) {
    const line = EVENT_LINES[type]?.(data);
    if (line !== undefined) say(line);
    if (["run.completed", "run.failed", "run.cancelled"].includes(type)) return finishedRun(url, data);
  }
  throw new Failure("The stream ended before the run did.");
}

/**
 * @param {string} url
 * @param {EventData} data of the terminal event
 * @returns {Promise<Run>}
 */
async function finishedRun(url, { id = "" }) {
  const answer = await fetch(`${url}/v1/runs/${id}`, { headers: authorisation() });
  return parseJson(await answer.text());
}

/**
 * @param {string} url
 * @param {string} runId
 * @param {Delivery} delivery
 * @returns {Promise<string>} where the file is
 */
async function download(url, runId, delivery) {
  const answer = await fetch(new URL(delivery.url, url), { headers: authorisation() });
  const bytes = Buffer.from(await answer.arrayBuffer());
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  if (!answer.ok || sha256 !== delivery.sha256) {
    throw new Failure(
      `${delivery.name} is not what the run says: status ${answer.status}, sha256 ${sha256}.`,
    );
  }
  const folder = join("berth-deliveries", runId);
  mkdirSync(folder, { recursive: true });
  // The name comes from a box: only its last part is a file name here.
  const path = join(folder, delivery.name.split(/[/\\]/).pop() || delivery.id);
  writeFileSync(path, bytes);
  return `${relative(".", path)}  ${bytes.length} bytes, sha256 ok`;
}

await runMain(async () => {
  const service = await reachService();
  /** @type {Run | undefined} */
  let run;
  try {
    say(`\nSending a table and a message to ${service.url}/v1/runs`);
    run = await runMessage(service.url);
    say(`\n${run.message?.content ?? ""}\n`);
    if (run.status !== "completed") {
      throw new Failure(`The run ended as ${run.status}: ${run.error?.message ?? "no reason given"}`);
    }
    if (run.deliveries.length === 0) throw new Failure(`The run ${run.id} delivered no file.`);
    for (const delivery of run.deliveries) say(await download(service.url, run.id, delivery));
  } finally {
    await service.stop(run?.session?.id);
  }
});
