import { describe, expect, it } from "vitest";
import type { ExecEvent } from "../../../../src/ports/box-handle.js";
import { createExecTool } from "../../../../src/tools/native/exec.js";
import { proves } from "../../../support/proves.js";
import { errorOf, FakeToolBox, printed, resultOf, runTool, SETTINGS } from "../fake-tool-box.js";

const exec = createExecTool({ outputChars: 4000 });
const size = (text: unknown): number => Array.from(String(text)).length;

describe("exec", () => {
  it("runs the command with sh -lc in the workspace and tells how it ended", async () => {
    const box = new FakeToolBox();
    box.command = () => printed("hello\n");
    expect(await resultOf(exec, box, { command: "echo hello" })).toEqual({
      session_id: "ses_1",
      status: "completed",
      ok: true,
      exit_code: 0,
      stdout: "hello\n",
      stderr: "",
      stdout_truncated: false,
      stderr_truncated: false,
      stdout_bytes: 6,
      stderr_bytes: 0,
      preview: "hello\n",
      truncated: false,
      truncated_by: null,
      duration_ms: 12,
      notes: [],
    });
    expect(box.commands).toEqual([
      {
        argv: ["sh", "-lc", "echo hello"],
        workdir: "/workspace",
        env: { BERTH_INBOX: box.inbox, BERTH_OUTBOX: box.outbox },
        timeoutMs: 30_000,
      },
    ]);
  });

  it("names the limit of one file where a command says that one is too large", async () => {
    const box = new FakeToolBox();
    box.command = () => printed("", { stderr: "dd: error writing 'f': File too large\n" });
    const { notes } = await resultOf(exec, box, { command: "dd of=f; true" });
    expect(notes).toEqual([expect.stringMatching(/^A file can have \d+ MiB at most/)]);
  });

  it("passes workdir, environment and time limit on", async () => {
    const box = new FakeToolBox();
    await resultOf(exec, box, {
      command: "x",
      workdir: "src",
      timeout_sec: "5",
      env: { LANG: "C", N: 1, B: true },
    });
    expect(box.commands[0]).toMatchObject({
      workdir: "/workspace/src",
      timeoutMs: 5000,
      env: { LANG: "C", N: "1", B: "true", BERTH_INBOX: box.inbox },
    });
  });

  it("refuses an empty command", async () => {
    proves("BOX-08");
    const box = new FakeToolBox();
    expect(await errorOf(exec, box, { command: "" })).toBe(
      "Invalid input for exec: command: must not be empty.",
    );
    expect(await errorOf(exec, box, { command: " \n" })).toMatch(/must not be empty/);
    expect(await errorOf(exec, box, {})).toMatch(/^Invalid input for exec: command: /);
    expect(box.commands).toEqual([]);
  });

  it.each([
    [{ command: "x", workdir: "/etc" }, /escapes/],
    [{ command: "x", workdir: "../.." }, /escapes/],
    [{ command: "x", env: { BERTH_OUTBOX: "/tmp" } }, /reserved/],
    [{ command: "x", env: { A: {} } }, /^Invalid input for exec: env\.A: /],
    [{ command: "x", env: "A=1" }, /^Invalid input for exec: env: /],
    [{ command: "x", timeout_sec: true }, /^Invalid input for exec: timeout_sec: /],
    [{ command: ["ls"] }, /^Invalid input for exec: command: /],
  ])("refuses %j before anything runs", async (input, reason) => {
    const box = new FakeToolBox();
    expect(await errorOf(exec, box, input)).toMatch(reason);
    expect(box.commands).toEqual([]);
  });

  it("clamps the time limit and says so", async () => {
    const box = new FakeToolBox();
    const result = await resultOf(exec, box, { command: "x", timeout_sec: 900 });
    expect(box.commands[0]?.timeoutMs).toBe(120_000);
    expect(result["notes"]).toEqual(["timeout_sec 900 is above the limit of this box; 120 s was used."]);
  });

  it("gives an exit code that is not 0 as data", async () => {
    const box = new FakeToolBox();
    box.command = () => printed("", { stderr: "bad\n", exit: { exitCode: 3 } });
    const result = await resultOf(exec, box, { command: "x" });
    expect(result).toMatchObject({
      ok: false,
      status: "completed",
      exit_code: 3,
      stderr: "bad\n",
      preview: "bad\n",
    });
  });

  it("tells what was printed before a time limit struck, and what more can be asked for", async () => {
    const box = new FakeToolBox();
    const exit = { status: "timed_out" as const, exitCode: null, notes: ["The time limit of 1 s struck."] };
    box.command = () => printed("half", { exit });
    const result = await resultOf(exec, box, { command: "x", timeout_sec: 1 });
    expect(result).toMatchObject({ ok: false, status: "timed_out", exit_code: null, stdout: "half" });
    expect(result["notes"]).toEqual(["The time limit of 1 s struck.", "timeout_sec can be up to 120."]);
    const longest = await resultOf(exec, box, { command: "x", timeout_sec: 120 });
    expect(longest["notes"]).toEqual(["The time limit of 1 s struck."]);
  });

  it("cuts long output at the limit, each stream for itself, and leaves exactly the limit untouched", async () => {
    proves("TOOL-09");
    const box = new FakeToolBox();
    box.command = () => printed("a".repeat(4000), { stderr: "b".repeat(4001) });
    const result = await resultOf(exec, box, { command: "x" });
    expect(result).toMatchObject({
      stdout: "a".repeat(4000),
      stdout_truncated: false,
      stderr_truncated: true,
    });
    expect(result["stderr"]).toMatch(
      /^b+\n\[\.\.\. \d+ of 4001 characters \(4001 bytes in all\) left out.*\]\nb+$/u,
    );
    expect(size(result["stderr"])).toBeLessThanOrEqual(4000);
    const wide = await wideOutput();
    for (const field of ["stdout", "stderr", "preview"])
      expect(Buffer.byteLength(String(wide[field]))).toBeLessThanOrEqual(50 * 1024);
  });

  it("keeps the whole of cut output in the box and says how much there was", async () => {
    proves("BOX-11");
    const box = new FakeToolBox();
    box.command = () => printed("x".repeat(700_000), { stderr: "FAIL", exit: { exitCode: 2 } });
    const result = await resultOf(exec, box, { command: "x" });
    const path = "/workspace/.tool-results/call_1";
    expect(result).toMatchObject({
      truncated: true,
      truncated_by: "chars",
      stdout_bytes: 700_000,
      output_path: path,
    });
    expect(result["stdout"]).toContain(`${path} has 700004 bytes of output`);
    expect(result["notes"]).toEqual([
      "stdout was cut: 700000 characters, 700000 bytes in total.",
      `The whole output (both streams, in order of arrival) can be read at ${path}.`,
    ]);
    expect(box.text(path)).toBe(`${"x".repeat(700_000)}FAIL`);
  });

  it("writes nothing into the box for output that fits", async () => {
    const box = new FakeToolBox();
    box.command = () => printed("fits");
    await resultOf(exec, box, { command: "x" });
    expect(box.requests).toEqual([]);
  });

  it("keeps at most 16 MiB of a flood and says so", async () => {
    const box = new FakeToolBox();
    const piece = Buffer.alloc(1024 * 1024, "y");
    box.command = () => printed(Array.from({ length: 40 }, () => piece));
    const result = await resultOf(exec, box, { command: "yes" });
    expect(result["stdout_bytes"]).toBe(40 * 1024 * 1024);
    expect(result["notes"]).toContainEqual(expect.stringMatching(/^The first 16777216 of 41943040 bytes/));
    expect(box.tree.get("/workspace/.tool-results/call_1")?.bytes.length).toBe(16 * 1024 * 1024);
  });

  it("gives the result also when the output cannot be kept", async () => {
    const box = new FakeToolBox();
    box.command = () => printed("x".repeat(5000));
    box.faults.set("/workspace/.tool-results/call_1", "no_space");
    const full = await resultOf(exec, box, { command: "x" });
    expect(full).not.toHaveProperty("output_path");
    expect(full["notes"]).toContainEqual(expect.stringContaining("no space left"));
    box.settings = { ...SETTINGS, workspaceMode: "ro" };
    const readOnly = await resultOf(exec, box, { command: "x" });
    expect(readOnly["notes"]).toContainEqual("The whole output was not kept. The workspace is read-only.");
  });

  it("sends output as it comes", async () => {
    const box = new FakeToolBox();
    box.command = () => printed("one", { stderr: "two" });
    const { live } = await runTool(exec, { box, input: { command: "x" } });
    expect(live).toEqual([
      { type: "output", stream: "stdout", text: "one" },
      { type: "output", stream: "stderr", text: "two" },
    ]);
  });

  it("gives what a cancelled command printed, without saving it", async () => {
    const box = new FakeToolBox();
    const controller = new AbortController();
    box.command = async function* (_request, { signal }): AsyncGenerator<ExecEvent> {
      yield* withoutExit(printed("z".repeat(5000)));
      controller.abort();
      const status = signal.aborted ? "cancelled" : "completed";
      yield { type: "exit", exit: { status, exitCode: null, durationMs: 1, leftovers: 0, notes: [] } };
    };
    const { outcome } = await runTool(exec, { box, input: { command: "x" } }, controller.signal);
    expect(outcome).toMatchObject({
      ok: true,
      result: { status: "cancelled", ok: false, stdout_bytes: 5000 },
    });
    expect(box.requests).toEqual([]);
  });

  it("does not hide that the outcome is unknown when the engine is lost", async () => {
    const box = new FakeToolBox();
    box.command = async function* (): AsyncGenerator<ExecEvent> {
      yield* withoutExit(printed("a"));
      throw new Error("lost");
    };
    await expect(runTool(exec, { box, input: { command: "x" } })).rejects.toThrow("lost");
  });
});

async function wideOutput(): Promise<Readonly<Record<string, unknown>>> {
  const box = new FakeToolBox();
  box.command = () => printed("😀".repeat(20_000), { stderr: "😀".repeat(20_000) });
  return resultOf(createExecTool({ outputChars: 20_000 }), box, { command: "x" });
}

async function* withoutExit(events: AsyncIterable<ExecEvent>): AsyncGenerator<ExecEvent> {
  for await (const event of events) if (event.type !== "exit") yield event;
}
