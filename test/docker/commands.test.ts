/** Commands as the model gives them and gets their results, through the whole service (box §10.7, §12). */
import { describe, expect, inject, it, vi } from "vitest";
import { z } from "zod";
import type { ChatRequest } from "../../src/ports/chat-model.js";
import { text } from "../fakes/scripted-model.js";
import { lastToolResults, runs } from "../support/agent-script.js";
import { proves } from "../support/proves.js";
import { chatMessage, serviceForAll } from "../support/shared-service.js";

const hasEngine = inject("dockerAvailable");

const resultSchema = z.object({
  status: z.string(),
  ok: z.boolean(),
  exit_code: z.number().nullable(),
  stdout: z.string(),
  stderr: z.string(),
  stdout_bytes: z.number(),
  stdout_truncated: z.boolean(),
  truncated: z.boolean(),
  output_path: z.string().optional(),
  notes: z.array(z.string()),
});

/** What the tool said of the last command, as far as these tests look at it. */
function resultIn(request: ChatRequest): z.infer<typeof resultSchema> {
  return resultSchema.parse(JSON.parse(lastToolResults(request)[0] ?? "{}"));
}

describe.skipIf(!hasEngine)("a command", () => {
  const service = serviceForAll();

  async function resultOf(command: string): Promise<z.infer<typeof resultSchema>> {
    using model = service().script(runs(command), text("done"));
    await service().send(chatMessage("42", "Run it"));
    return resultIn(model.request(1));
  }

  it("that prints what is no UTF-8 comes back with marks, a note and its exit code", async () => {
    proves("ISO-06");
    const invalid = await resultOf("printf '\\377\\376abc'; exit 3");
    expect(invalid).toMatchObject({ stdout: "\uFFFD\uFFFDabc", exit_code: 3, ok: false });
    expect(invalid.notes.join(" ")).toContain("UTF-8");
    const split = await resultOf("printf '\\344'; sleep 0.3; printf '\\275'; sleep 0.3; printf '\\240'");
    expect(split).toMatchObject({ stdout: "你", exit_code: 0, notes: [] });
  });

  it("that prints five million lines shows head and tail, what is missing, its error and its exit code", async () => {
    proves("ISO-07");
    const bytes = 38_888_896;
    const result = await resultOf("seq 1 5000000; echo FAIL >&2; exit 2");
    expect(result).toMatchObject({
      status: "completed",
      exit_code: 2,
      stderr: "FAIL\n",
      stdout_bytes: bytes,
    });
    expect(result.stdout).toMatch(/^1\n2\n3\n/);
    expect(result.stdout).toMatch(/\n4999999\n5000000\n$/);
    expect(Array.from(result.stdout).length).toBeLessThanOrEqual(4000);
    const missing = /\[\.\.\. (\d+) of (\d+) characters/.exec(result.stdout);
    expect(Number(missing?.[2])).toBe(bytes);
    expect(Number(missing?.[1])).toBeGreaterThan(bytes - 4000);
    const kept = await resultOf(`head -c 10 ${result.output_path}; wc -c < ${result.output_path}`);
    expect(kept.stdout).toMatch(/^1\n2\n3\n4\n5\n16\d{6}\n$/);
  });

  it("sees nothing of the service: not its variables, nor its command line", async () => {
    vi.stubEnv("BERTH_TEST_CANARY", "SERVICE-CANARY");
    const { stdout } = await resultOf(
      "env; for f in /proc/[0-9]*/environ /proc/[0-9]*/cmdline; do tr '\\0' '\\n' < $f; done 2>/dev/null",
    );
    expect(stdout).toContain("BERTH_OUTBOX=");
    expect(stdout).not.toContain("CANARY");
    expect(stdout).not.toMatch(/vitest|node |DOCKER|API_KEY/);
  });

  it("gets an empty input and no more than its own output", async () => {
    expect(await resultOf("wc -c; cat; read x || echo nothing")).toMatchObject({ stdout: "0\nnothing\n" });
    expect(await resultOf("printf '  spaced  \\n\\n'")).toMatchObject({
      stdout: "  spaced  \n\n",
      truncated: false,
    });
  });
});
