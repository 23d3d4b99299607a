import { describe, expect, it } from "vitest";
import { z } from "zod";
import { DemoModel } from "../../../../src/adapters/demo/demo-model.js";
import { type Message, messageText } from "../../../../src/domain/message.js";
import type { ExecRequest } from "../../../../src/ports/box-handle.js";
import type { CallPiece, ChatChunk, ChatRequest } from "../../../../src/ports/chat-model.js";
import { nativeTools } from "../../../../src/tools/native/index.js";
import { offerNativeTools } from "../../../../src/tools/native-source.js";
import { FakeToolBox, printed, runTool } from "../../tools/fake-tool-box.js";

const model = new DemoModel();
const tools = nativeTools({ outputChars: 4000 });
const definitions = offerNativeTools(tools, { boxesEnabled: true, workspaceMode: "rw" }).map(
  ({ tool_name: name, description, parameters }) => ({ name, description, parameters: parameters ?? {} }),
);
const options = { signal: new AbortController().signal };
const BOX_NOTE =
  "Files of this message lie in /workspace/inbox/run_1. Put results into /workspace/outbox/run_1.";

function ask(text: string, rest: Partial<ChatRequest> = {}): ChatRequest {
  return { messages: [{ role: "user", content: `${text}\n\n${BOX_NOTE}` }], tools: definitions, ...rest };
}

async function streamed(request: ChatRequest): Promise<readonly ChatChunk[]> {
  const chunks: ChatChunk[] = [];
  for await (const chunk of model.stream(request, options)) chunks.push(chunk);
  return chunks;
}

function textOf(piece: CallPiece): string {
  return typeof piece.arguments === "string" ? piece.arguments : "";
}

/** The calls of a stream, put together as any client does. */
function joinCalls(chunks: readonly ChatChunk[]): readonly CallPiece[] {
  const joined = new Map<number, CallPiece>();
  for (const piece of chunks.flatMap(({ calls = [] }) => calls)) {
    const known = joined.get(piece.index ?? 0) ?? { arguments: "" };
    joined.set(piece.index ?? 0, {
      ...known,
      ...piece,
      arguments: `${textOf(known)}${textOf(piece)}`,
    });
  }
  return [...joined.values()];
}

interface Conversation {
  readonly box: FakeToolBox;
  readonly answer: string;
  /** Names of the calls of each reply. */
  readonly turns: readonly (readonly string[])[];
  readonly ids: readonly string[];
}

/** Plays host: runs what the model asks for until it answers. */
async function converse(request: ChatRequest, box = new FakeToolBox()): Promise<Conversation> {
  const messages: Message[] = [...request.messages];
  const turns: string[][] = [];
  const ids: string[] = [];
  for (;;) {
    const reply = await model.complete({ ...request, messages }, options);
    if (reply.calls.length === 0) return { box, answer: reply.text ?? "", turns, ids };
    const calls = reply.calls.map((call) => ({
      id: call.id ?? "",
      name: call.name ?? "",
      input: textOf(call),
    }));
    turns.push(calls.map(({ name }) => name));
    ids.push(...calls.map(({ id }) => id));
    const tool_calls = calls.map(({ id, name, input }) => ({
      id,
      type: "function" as const,
      function: { name, arguments: input },
    }));
    messages.push({ role: "assistant", content: null, tool_calls });
    for (const call of calls)
      messages.push({ role: "tool", tool_call_id: call.id, content: await runCall(call, box) });
  }
}

async function runCall(
  call: { readonly name: string; readonly input: string },
  box: FakeToolBox,
): Promise<string> {
  const tool = tools.find(({ name }) => name === call.name);
  if (tool === undefined) throw new Error(`No tool ${call.name}.`);
  const input = z.record(z.string(), z.unknown()).parse(JSON.parse(call.input));
  const { outcome } = await runTool(tool, { box, input });
  return outcome.ok ? JSON.stringify(outcome.result) : `Error: ${outcome.error}`;
}

describe("DemoModel with code", () => {
  it("runs the blocks one after the other, delivers the outbox, and tells what came out", async () => {
    const box = new FakeToolBox();
    const exported = {
      file_id: "file_1",
      name: "chart.png",
      type: "image",
      size: 3,
      sha256: "0",
      source_removed: true,
    };
    box.exportAnswer = { ok: true, files: [exported], warnings: [] };
    box.command = (request: ExecRequest) => {
      box.put("/workspace/outbox/run_1/chart.png", "png");
      return printed(`ran ${String(request.env["CODE"])}`);
    };
    const text =
      "Do:\n```bash\necho 'a' > $BERTH_OUTBOX/x\n```\n```python\nprint(\"$(id) `x`\")\n```\n```text\nno\n```";
    const { answer, turns, ids } = await converse(ask(text), box);
    expect(turns).toEqual([["exec"], ["exec"], ["glob"], ["export_box_files"]]);
    expect(new Set(ids).size).toBe(4);
    expect(box.commands.map(({ argv, env }) => [argv[2], env["CODE"]])).toEqual([
      ['bash -c "$CODE"', "echo 'a' > $BERTH_OUTBOX/x\n"],
      ['python3 -c "$CODE"', 'print("$(id) `x`")\n'],
    ]);
    expect(box.requests.at(-1)).toBe('export ["/workspace/outbox/run_1/chart.png"]');
    expect(answer).toMatch(/demo model.*no reasoning took place/);
    expect(answer).toContain("**1. bash** (exit code 0, 12 ms)\n\n```\nran echo 'a' > $BERTH_OUTBOX/x\n```");
    expect(answer).toContain("**Delivered:** chart.png (3 bytes)");
  });

  it.each([
    ["sh", "a", 'sh -c "$CODE"'],
    ["shell", "a", 'sh -c "$CODE"'],
    ["py", "a", 'python3 -c "$CODE"'],
    ["js", "a", 'node -e "$CODE"'],
    ["node", "import a from 'a'", 'node --input-type=module -e "$CODE"'],
  ])("runs a block of %s", async (language, code, command) => {
    const { box } = await converse(ask(`\`\`\`${language}\n${code}\n\`\`\``));
    expect(box.commands[0]?.argv[2]).toBe(command);
  });

  it("says how a command ended and that nothing was delivered", async () => {
    const box = new FakeToolBox();
    box.command = () =>
      printed("", { stderr: "a ``` b", exit: { status: "timed_out", exitCode: null, notes: ["30 s."] } });
    const { answer, turns } = await converse(ask("```sh\nsleep 99\n```"), box);
    expect(turns).toEqual([["exec"], ["glob"]]);
    expect(answer).toContain("**1. sh** (timed out, 12 ms)\n\n````\na ``` b\n````\n\n- 30 s.");
    expect(answer).toContain("The outbox holds no files, so nothing was delivered.");
  });

  it("shows the error of a call and of an export", async () => {
    const box = new FakeToolBox();
    box.put("/workspace/outbox/run_1/a", "");
    box.exportAnswer = { ok: false, error: "too large" };
    const { answer } = await converse(ask(`\`\`\`sh\n${"x".repeat(40_000)}\n\`\`\``), box);
    expect(answer).toMatch(/Error: Invalid input for exec: env: "CODE" has a value of 40001 bytes/);
    expect(answer).toContain("**Delivery**\n\n```\nError: too large\n```");
  });

  it("lists the outbox with exec where there is no glob or no named outbox", async () => {
    const box = new FakeToolBox();
    box.command = ({ argv }) =>
      printed(
        argv[2]?.startsWith("find") === true ? "/workspace/outbox/run_1/b\n/workspace/outbox/run_1/a\n" : "",
      );
    const request = { messages: [{ role: "user" as const, content: "```sh\na\n```" }], tools: definitions };
    const { turns } = await converse(request, box);
    expect(turns).toEqual([["exec"], ["exec"], ["export_box_files"]]);
    expect(box.requests.at(-1)).toBe('export ["/workspace/outbox/run_1/a","/workspace/outbox/run_1/b"]');
  });
});

describe("DemoModel with attachments", () => {
  const note = JSON.stringify({
    type: "input_attachments",
    attachments: [{ path: "/workspace/inbox/run_1/0/a.csv" }],
  });

  it("lists and reads them, then delivers what is in the outbox", async () => {
    const box = new FakeToolBox();
    box.put("/workspace/inbox/run_1/0/a.csv", "x,y\n1,2\n");
    box.command = () => printed("-rw a.csv\n");
    const { answer, turns } = await converse(ask(`Look\n\n${note}`), box);
    expect(turns).toEqual([["exec", "read"], ["glob"]]);
    expect(answer).toContain("**Files of the message** (exit code 0, 12 ms)\n\n```\n-rw a.csv\n```");
    expect(answer).toContain("**/workspace/inbox/run_1/0/a.csv** (2 lines)\n\n```\nx,y\n1,2\n```");
  });

  it("prefers code to the files beside it", async () => {
    const { turns } = await converse(ask(`\`\`\`sh\nwc -l a\n\`\`\`\n\n${note}`));
    expect(turns).toEqual([["exec"], ["glob"]]);
  });
});

describe("DemoModel without work", () => {
  it("says that there is nothing to run", async () => {
    const { answer, turns } = await converse(ask("What is the meaning of life?"));
    expect(turns).toEqual([]);
    expect(answer).toMatch(/neither a code block to run nor a file/);
  });

  it("says that it cannot run anything without tools", async () => {
    const { answer } = await converse(ask("```sh\nls\n```", { tools: [] }));
    expect(answer).toMatch(/cannot run anything/);
    const readOnly = await converse(
      ask("```sh\nls\n```", { tools: definitions.filter(({ name }) => name === "read") }),
    );
    expect(readOnly.answer).toMatch(/were not offered to it/);
  });

  it("tells what was done when the last reply of a run is asked for without tools", async () => {
    const first = await model.complete(ask("```sh\nls\n```"), options);
    const call = {
      id: first.calls[0]?.id ?? "",
      type: "function" as const,
      function: { name: "exec", arguments: "{}" },
    };
    const result = JSON.stringify({ status: "completed", exit_code: 0, duration_ms: 1, preview: "out" });
    const messages: Message[] = [
      ...ask("```sh\nls\n```").messages,
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: call.id, content: result },
      { role: "system", content: "The tool budget is used up." },
    ];
    const last = await model.complete({ messages, tools: [] }, options);
    expect(last.text).toContain("**1. sh** (exit code 0, 1 ms)\n\n```\nout\n```");
  });
});

describe("DemoModel as a model", () => {
  const requests = [ask("```sh\necho 你好 😀\n```"), ask("Hello"), ask("x", { tools: [] })];

  it.each(requests)("gives the same in both modes", async (request) => {
    const whole = await model.complete(request, options);
    const chunks = await streamed(request);
    expect(chunks.map(({ text = "" }) => text).join("")).toBe(whole.text ?? "");
    expect(joinCalls(chunks)).toEqual(whole.calls);
    expect(chunks.at(-1)).toEqual({ finishReason: whole.finishReason });
    expect(chunks.slice(0, -1).every(({ finishReason }) => finishReason === undefined)).toBe(true);
  });

  it("sends text and arguments in several pieces", async () => {
    const calls = await streamed(ask("```sh\necho a long enough command line\n```"));
    expect(calls.length).toBeGreaterThan(4);
    expect((await streamed(ask("Hello"))).length).toBeGreaterThan(4);
  });

  it("answers the same request the same way", async () => {
    const request = ask("```sh\nls\n```");
    expect(await model.complete(request, options)).toEqual(await new DemoModel().complete(request, options));
  });

  it("reads the last user message only", async () => {
    const messages: Message[] = [
      { role: "user", content: "```sh\nold\n```" },
      { role: "assistant", content: "done" },
      { role: "user", content: [{ type: "text", text: "thanks" }] },
    ];
    const reply = await model.complete({ messages, tools: definitions }, options);
    expect(messageText({ content: reply.text })).toMatch(/neither a code block/);
  });

  it("stops with the signal's reason", async () => {
    const reason = new Error("stopped");
    const aborted = { signal: AbortSignal.abort(reason) };
    await expect(model.complete(ask("x"), aborted)).rejects.toBe(reason);
    const controller = new AbortController();
    const stream = model.stream(ask("x"), { signal: controller.signal });
    await stream.next();
    controller.abort(reason);
    await expect(stream.next()).rejects.toBe(reason);
  });
});
