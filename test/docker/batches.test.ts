/** Batches of calls, floods and binary files with the real tools in a real box. */
import { describe, expect, inject, it } from "vitest";
import { z } from "zod";
import { calls, type Step, text } from "../fakes/scripted-model.js";
import { lastToolResults, runs } from "../support/agent-script.js";
import { proves } from "../support/proves.js";
import { readStream } from "../support/read-events.js";
import { chatMessage, serviceForAll } from "../support/shared-service.js";

const floodSchema = z.object({ stdout: z.string(), truncated: z.literal(true), output_path: z.string() });
/** Printed by a command, so that it is not in the command itself. */
const FLOOD_BYTES = 700_000;

describe.skipIf(!inject("dockerAvailable"))("calls of one reply in a real box", () => {
  const service = serviceForAll();

  it("let a read see what a write before it in the same batch wrote", async () => {
    proves("LOOP-21");
    const contents = Array.from({ length: 5 }, (_none, index) => `round ${index}`);
    using model = service().script(
      ...contents.map((content) =>
        calls([
          { name: "write", arguments: { path: "a", content } },
          { name: "read", arguments: { path: "/workspace/a" } },
        ]),
      ),
      text("Done."),
    );
    await service().send(chatMessage("ann", "Write and read"));
    contents.forEach((content, index) => {
      const [, read] = lastToolResults(model.request(index + 1));
      expect(JSON.parse(read ?? "")).toMatchObject({ content });
    });
  });

  it("are answered in their order, whatever ends first", async () => {
    proves("LOOP-22");
    using model = service().script(
      calls([
        { id: "slow", name: "exec", arguments: { command: "sleep 1; echo slow" } },
        { id: "none", name: "no_such_tool", arguments: {} },
        { id: "fast", name: "glob", arguments: { pattern: "*" } },
      ]),
      text("Done."),
    );
    const run = await service().send(chatMessage("bob", "Go"));
    expect(run).toMatchObject({ status: "completed", message: { content: "Done." } });
    const tools = model.request(1).messages.filter(({ role }) => role === "tool");
    expect(tools.map(({ tool_call_id: id }) => id)).toEqual(["slow", "none", "fast"]);
    const [slow, none] = lastToolResults(model.request(1));
    expect([slow, none]).toEqual([
      expect.stringContaining("slow\\n"),
      expect.stringMatching(/^Error: .*no_such_tool/),
    ]);
  });

  it("come back bounded, with the place of the whole output, when they print 700 KB in two rounds", async () => {
    proves("BOUND-05");
    using model = service().script(flood("x"), flood("y"), text("Done."));
    const run = await service().send(chatMessage("cid", "Flood"));
    expect(run).toMatchObject({ status: "completed", error: null });
    for (const [index, letter] of ["x", "y"].entries()) {
      const [result = ""] = lastToolResults(model.request(index + 1));
      const flooded = floodSchema.parse(JSON.parse(result));
      expect(flooded.stdout.length).toBeLessThanOrEqual(4000);
      expect(flooded.stdout).toContain(flooded.output_path);
      const path = `/v1/sessions/${run.session?.id}/files/content?path=${encodeURIComponent(flooded.output_path)}`;
      expect(await (await service().fetch(path)).text()).toBe(letter.repeat(FLOOD_BYTES));
    }
    expect(JSON.stringify(model.request()).length).toBeLessThan(60_000);
  });

  it("read no byte of a PDF of 1.6 MB: type, size and the way to its text are told", async () => {
    proves("TOOL-11");
    const pdf =
      'import sys; open("/workspace/report.pdf", "wb").write(b"%PDF-1.7\\n" + (b"canary-of" + b"-the-pdf\\x00") * 90_000)';
    using model = service().script(
      runs(`python3 -c '${pdf}'`),
      calls([{ name: "read", arguments: { path: "report.pdf" } }]),
      text("It is binary."),
      text("Again."),
    );
    const run = await service().send(chatMessage("dan", "Read it"));
    await service().send(chatMessage("dan", "And?"));
    expect(lastToolResults(model.request(2))[0]).toMatch(
      /^Error: .*report\.pdf.*application\/pdf, 1620009 bytes.*pdftotext/,
    );
    const events = await readStream(await service().fetch(`/v1/runs/${run.id}/events`));
    const told = [run, events, model.requests];
    expect(JSON.stringify(told)).not.toContain("canary-of-the-pdf");
  });
});

function flood(letter: string): Step {
  return runs(`head -c ${FLOOD_BYTES} /dev/zero | tr '\\0' ${letter}`);
}
