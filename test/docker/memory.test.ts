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
import { proves } from "../support/proves.js";
import { removeOwned, serviceIdOf } from "../support/service-boxes.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

const MIB = 1024 * 1024;
const ENGINE = new Docker();
const CHAT = { launcher_type: "person", launcher_id: "42" };

const bytesSchema = z.instanceof(Uint8Array);

let service: ServiceProcess;

beforeEach(async () => {
  if (!inject("dockerAvailable")) return;
  const limits = { max_file_bytes: 200 * MIB, max_total_bytes: 400 * MIB };
  service = await startServiceProcess({
    settings: { boxes: { image: "berth-box:slim" }, inbound: limits, export: limits },
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

async function runBlock(command: string) {
  return sendMessage(service.url, { chat: CHAT, input: { text: `\`\`\`bash\n${command}\n\`\`\`` } });
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

  it("grows by less than 50 MB during 300 MB of output, which comes back bounded, and the box goes on", async () => {
    proves("ISO-08");
    const before = await warmUp();
    const run = await runBlock("yes | head -c 300M; echo exit $?");
    expect(run).toMatchObject({ status: "completed" });
    expect(run.message?.content.length).toBeLessThan(20_000);
    expect((peakBytes() - before) / MIB).toBeLessThan(50);
    const next = await runBlock("echo still here");
    expect(next.message?.content).toContain("still here");
  });
});
