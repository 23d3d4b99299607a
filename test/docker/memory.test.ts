/** Large files and floods of output pass through the service without staying in it (box §6.6). */
import { createHash, randomBytes } from "node:crypto";
import { openAsBlob, readFileSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import Docker from "dockerode";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { z } from "zod";
import { runSchema } from "../../src/domain/run.js";
import { sendMessage } from "../support/composed-service.js";
import { percentile, prove } from "../support/proof.js";
import { proves } from "../support/proves.js";
import { readStream } from "../support/read-events.js";
import { removeOwned, serviceIdOf } from "../support/service-boxes.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { textLike } from "../support/text-like.js";

const MIB = 1024 * 1024;
const ENGINE = new Docker();
const CHAT = { launcher_type: "person", launcher_id: "42" };
const BESIDE = { launcher_type: "person", launcher_id: "43" };

const bytesSchema = z.instanceof(Uint8Array);

let service: ServiceProcess;

beforeEach(async () => {
  if (!inject("dockerAvailable")) return;
  const limits = { max_file_bytes: 200 * MIB, max_total_bytes: 400 * MIB };
  service = await startServiceProcess({
    settings: { boxes: { image: "berth-box:slim", exec_timeout_sec: 120 }, inbound: limits, export: limits },
  });
});

afterEach(async () => {
  await service.kill("SIGTERM");
  await removeOwned(ENGINE, await serviceIdOf(service.directory));
  await service[Symbol.asyncDispose]();
});

/** The highest resident memory since `forgetPeak`. */
function peakBytes(): number {
  const status = readFileSync(`/proc/${service.process.pid}/status`, "utf8");
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
}

function forgetPeak(): void {
  writeFileSync(`/proc/${service.process.pid}/clear_refs`, "5");
}

async function runBlock(command: string, chat = CHAT) {
  return sendMessage(service.url, { chat, input: { text: `\`\`\`bash\n${command}\n\`\`\`` } });
}

/** Memory that code and caches take at their first use is not growth by a file. */
async function warmUp(): Promise<number> {
  const small = await runBlock('head -c 3M /dev/urandom > "$BERTH_OUTBOX/small.bin"');
  await (await fetch(`${service.url}${small.deliveries[0]?.url}`)).arrayBuffer();
  forgetPeak();
  return service.residentBytes();
}

describe.skipIf(!inject("dockerAvailable"))("the service's memory", () => {
  it("grows by less than 64 MB while a file of 100 MB is exported and downloaded", async () => {
    const before = await warmUp();
    const run = await runBlock(
      'head -c 100M /dev/urandom > "$BERTH_OUTBOX/big.bin"; sha256sum "$BERTH_OUTBOX/big.bin"',
    );
    const [delivery] = run.deliveries;
    expect(delivery).toMatchObject({ name: "big.bin", bytes: 100 * MIB });
    expect(run.message?.content).toContain(delivery?.sha256);
    const response = await fetch(`${service.url}${delivery?.url}`);
    const hash = createHash("sha256");
    for await (const chunk of response.body ?? []) hash.update(bytesSchema.parse(chunk));
    expect(hash.digest("hex")).toBe(delivery?.sha256);
    expect((peakBytes() - before) / MIB).toBeLessThan(64);
  });

  it("grows by less than 64 MB while a file of 100 MB is uploaded and put into the box", async () => {
    const path = join(service.directory, "upload.bin");
    const file = await open(path, "w");
    for (let i = 0; i < 100; i += 1) await file.write(randomBytes(MIB));
    await file.close();
    const before = await warmUp();
    const form = new FormData();
    const text = '```bash\nsha256sum "$BERTH_INBOX"/0/*\n```';
    form.set("request", JSON.stringify({ chat: CHAT, input: { text } }));
    form.set("file", await openAsBlob(path), "upload.bin");
    const response = await fetch(`${service.url}/v1/runs`, { method: "POST", body: form });
    const run = runSchema.parse(await response.json());
    expect(run.attachments).toMatchObject([{ name: "upload.bin", bytes: 100 * MIB, state: "imported" }]);
    const sha256 = createHash("sha256").update(readFileSync(path)).digest("hex");
    expect(run.message?.content).toContain(sha256);
    expect((peakBytes() - before) / MIB).toBeLessThan(64);
  });

  it("grows by less than 50 MB during 600 MB of output, which comes back bounded, and a run beside it goes on", async () => {
    proves("ISO-08", "ISO-09");
    const echo = () => runBlock("echo beside", BESIDE);
    await echo();
    const before = await warmUp();
    const quiet = await times(10, echo);
    const floods = new Set(["one"]);
    const flood = runBlock("yes | head -c 600M; echo exit $?").finally(() => floods.clear());
    const beside: number[] = [];
    while (floods.size > 0) {
      const begun = performance.now();
      expect(await echo()).toMatchObject({ status: "completed", message: { content: textLike(/beside/) } });
      beside.push(performance.now() - begun);
    }
    const run = await flood;
    expect(run).toMatchObject({
      status: "completed",
      message: { content: textLike(/629145607 bytes in total/) },
    });
    expect(run.message?.content.length).toBeLessThan(20_000);
    const events = await readStream(await fetch(`${service.url}/v1/runs/${run.id}/events`));
    const completed = events.find(({ type }) => type === "tool.call.completed");
    expect(completed?.data["result"]).toMatchObject({
      status: "completed",
      exit_code: 0,
      stdout_truncated: true,
    });
    const grownMib = (peakBytes() - before) / MIB;
    expect(grownMib).toBeLessThan(50);
    const kept = { proof: "flood", limit: undefined } as const;
    prove({ ...kept, what: "growth of the service during 600 MB of output", value: grownMib, unit: "MiB" });
    prove({ ...kept, what: "a run alone, p95", value: percentile(quiet, 0.95), unit: "ms" });
    prove({ ...kept, what: "a run beside the flood, p95", value: percentile(beside, 0.95), unit: "ms" });
    expect((await runBlock("echo still here")).message?.content).toContain("still here");
  }, 300_000);
});

async function times(count: number, work: () => Promise<unknown>): Promise<readonly number[]> {
  const taken: number[] = [];
  for (let round = 0; round < count; round += 1) {
    const begun = performance.now();
    await work();
    taken.push(performance.now() - begun);
  }
  return taken;
}
