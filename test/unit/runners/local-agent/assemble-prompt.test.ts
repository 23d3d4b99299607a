import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Attachment } from "../../../../src/domain/attachment.js";
import { ServiceError } from "../../../../src/domain/errors.js";
import type { TranscriptItem } from "../../../../src/domain/history.js";
import type { Message } from "../../../../src/domain/message.js";
import type { ImportedAttachment } from "../../../../src/ports/run-host.js";
import { attachmentNote } from "../../../../src/runners/local-agent/attachment-note.js";
import { ScriptedModel, text } from "../../../fakes/scripted-model.js";
import { proves } from "../../../support/proves.js";
import { textLike } from "../../../support/text-like.js";
import { type AgentSetup, aModel, BOTH_MODES, runAgent, textWith } from "./run-agent.js";

const BOX = { box: true, box_export_paths: true } as const;
const EXEC = { exec: { effect: { kind: "box.exec" } } } as const;

async function ask(setup: AgentSetup) {
  using model = new ScriptedModel([text("ok")]);
  const run = await runAgent({ models: { main: model }, ...setup });
  return {
    run,
    messages: run.host.modelCalls[0]?.messages ?? [],
    tools: run.host.modelCalls[0]?.tools ?? [],
  };
}

function item(sequence: number, message: Message, fields: Partial<TranscriptItem> = {}): TranscriptItem {
  return { sequence, run_id: "run_0", event_id: null, message, partial: false, created_at: 0, ...fields };
}

function attachment(index: number, fields: Partial<Attachment> = {}): Attachment {
  return {
    reference: `attachment-${index}`,
    type: "file",
    source: "base64",
    url: null,
    id: null,
    name: `${index}.csv`,
    mime_type: "text/csv",
    size: 10,
    path: null,
    ...fields,
  };
}

function imported(index: number, fields: Partial<ImportedAttachment> = {}): ImportedAttachment {
  return {
    reference: `attachment-${index}`,
    type: "file",
    index,
    name: `${index}.csv`,
    path: `/workspace/inbox/run_1/${index}/${index}.csv`,
    bytes: 10,
    mime_type: "text/csv",
    state: "imported",
    reason: null,
    ...fields,
  };
}

describe.each(BOTH_MODES)("the prompt, $mode", ({ streaming }) => {
  it("is the host's where the host has one", async () => {
    proves("AGENT-07");
    const prompt: Message[] = [{ role: "system", content: "From the host.", note: 1 }];
    const { messages } = await ask({
      streaming,
      prompt,
      apis: { prompt_get: true },
      config: { "date-grounding": false },
    });
    expect(messages).toEqual([...prompt, { role: "user", content: "Hello" }]);
    const without = await ask({
      streaming,
      prompt: [],
      apis: { prompt_get: true },
      config: { "date-grounding": false },
    });
    expect(without.messages[0]?.content).toBe("You are a helpful assistant.");
  });

  it.each([
    ["a number", 7],
    ["an unknown part", { role: "user", content: [{ type: "video", url: "x" }] }],
    ["a number as content", { role: "user", content: 7 }],
    ["nothing as content", { role: "user", content: null }],
    ["an unknown role", { role: "narrator", content: "x" }],
  ])("is refused by name with %s in it", async (_, entry) => {
    proves("AGENT-08");
    const run = await runAgent({
      streaming,
      models: { main: new ScriptedModel([]) },
      config: { prompt: [{ role: "system", content: "ok" }, entry] },
    });
    expect(run.failed.data).toMatchObject({ code: "runner.invalid_prompt", retryable: false });
    expect(run.failed.data.error).toContain("prompt[1]");
    expect(run.host.modelCalls).toEqual([]);
  });

  it("is passed on as it is, roles, parts and other fields included", async () => {
    const prompt = [
      { role: "user", content: "An example" },
      {
        role: "assistant",
        content: [{ type: "text", text: "Answer", cache_control: { type: "ephemeral" } }],
        tag: "x",
      },
    ];
    const { messages } = await ask({ streaming, config: { prompt, "date-grounding": false } });
    expect(messages.slice(0, 2)).toEqual(prompt);
  });
});

describe("the order of messages", () => {
  it("is prompt, date, history, user message; equal inputs give equal bytes", async () => {
    const history = [
      item(1, { role: "user", content: "Earlier" }),
      item(2, { role: "assistant", content: "Indeed" }),
    ];
    const first = await ask({ history });
    expect(first.messages.map(({ role, content }) => [role, content])).toEqual([
      ["system", "You are a helpful assistant."],
      ["system", textLike(/2023-11-14 \(UTC\).*Verify/)],
      ["user", "Earlier"],
      ["assistant", "Indeed"],
      ["user", "Hello"],
    ]);
    expect(JSON.stringify((await ask({ history })).messages)).toBe(JSON.stringify(first.messages));
  });

  it("takes the newest units of all pages and says that older ones exist", async () => {
    const history = Array.from({ length: 9 }, (_, i) => item(i, { role: "user", content: `m${i}` }));
    const { run, messages } = await ask({
      history,
      historyPageSize: 2,
      config: { "context-history-fetch-limit": 3 },
    });
    expect(messages.slice(2).map(({ content }) => content)).toEqual([
      textWith("earlier messages are not included"),
      "m6",
      "m7",
      "m8",
      "Hello",
    ]);
    expect(run.host.actions).toEqual(["history newest", "history 7"]);
  });

  it("has the current message once, though it is in the history already", async () => {
    proves("BUDGET-14");
    const history = [
      item(1, { role: "user", content: "Hello" }, { run_id: "run_0", event_id: "host:0" }),
      item(2, { role: "user", content: "Hello" }, { run_id: "run_1", event_id: "host:1" }),
    ];
    const { messages } = await ask({ history });
    expect(messages.filter(({ content }) => content === "Hello")).toHaveLength(2);
  });

  it("reads no history where the host has none to give", async () => {
    const { run, messages } = await ask({ apis: { history_page: false } });
    expect(run.host.actions).toEqual([]);
    expect(messages).toHaveLength(3);
  });
});

describe("history that could not be sent", () => {
  it("loses orphan answers, unanswered calls and empty messages, and keeps legal pairs", async () => {
    const history = [
      item(1, { role: "tool", tool_call_id: "lost", content: "orphan" }),
      item(2, { role: "user", content: "" }),
      item(3, {
        role: "assistant",
        content: "Looking",
        tool_calls: [lookCall("a"), lookCall("b"), lookCall("c")],
      }),
      item(4, { role: "tool", tool_call_id: "c", content: "3" }),
      item(5, { role: "tool", tool_call_id: "a", content: "1" }),
      item(6, { role: "assistant", content: null, tool_calls: [lookCall("d")] }),
      item(7, { role: "assistant", content: "Only text is left", tool_calls: [lookCall("e")] }),
      item(8, { role: "user", content: [{ type: "image_url", image_url: { url: "data:x" } }] }),
    ];
    const { messages } = await ask({ history });
    expect(messages.slice(2, -1)).toEqual([
      { role: "assistant", content: "Looking", tool_calls: [lookCall("a"), lookCall("c")] },
      { role: "tool", tool_call_id: "a", content: "1" },
      { role: "tool", tool_call_id: "c", content: "3" },
      { role: "assistant", content: "Only text is left" },
      { role: "user", content: [{ type: "text", text: textWith("image") }] },
    ]);
  });
});

describe("tools", () => {
  it("come sorted, by the given schema or by their detail; one without detail is left out with a warning", async () => {
    proves("AGENT-12");
    for (const streaming of [true, false]) {
      const schema = { type: "object", properties: { a: { type: "string" } } };
      const { run, tools } = await ask({
        streaming,
        tools: { b: { parameters: schema }, broken: { parameters: null }, a: {} },
      });
      expect(tools.map(({ name }) => name)).toEqual(["a", "b"]);
      expect(tools[1]?.parameters).toEqual(schema);
      expect(run.host.actions).toEqual(["detail broken", "history newest"]);
      expect(run.trace).toEqual([{ code: "runner.tool_left_out", message: textWith('"broken"') }]);
      expect(run.answer).toBe("ok");
    }
  });
});

describe("the box", () => {
  it("is bound before anything is imported or asked, and the message ends with its note", async () => {
    const { run, messages, tools } = await ask({
      tools: EXEC,
      apis: BOX,
      box: { notes: ["Its processes are gone."] },
    });
    expect(run.host.actions).toEqual(["bind", "history newest"]);
    expect(tools.map(({ name }) => name)).toEqual(["exec"]);
    expect(messages.at(-1)?.content).toMatch(
      /^Hello\n\nYou have a box.*\/workspace\/inbox\/run_1.*\/workspace\/outbox\/run_1.*export_box_files.*removed from the box\.\nIts processes are gone\.$/s,
    );
  });

  it.each([
    ["is switched off", { config: { "box-enabled": false }, tools: EXEC, apis: BOX }],
    ["is not offered by the host", { tools: EXEC, apis: {} }],
    [
      "is wanted by no granted tool",
      { tools: { export_box_files: { effect: { kind: "box.export", pathFields: ["paths"] } } }, apis: BOX },
    ],
  ] satisfies [string, AgentSetup][])(
    "is not acquired when it %s, and no tool of it is offered",
    async (_, setup) => {
      const { run, messages, tools } = await ask(setup);
      expect(run.host.actions).not.toContain("bind");
      expect(tools).toEqual([]);
      expect(messages.at(-1)?.content).toBe("Hello");
    },
  );

  it("is refused by a host that cannot deliver from it", async () => {
    const run = await runAgent({ models: { main: new ScriptedModel([]) }, tools: EXEC, apis: { box: true } });
    expect(run.failed.data).toMatchObject({
      code: "runner.error",
      error: textWith("box_export_paths"),
    });
  });

  it("fails the run with its own code and the hint that it can be switched off", async () => {
    const box = new ServiceError("box.capacity", "All 64 boxes are busy.", { hint: "Try again later." });
    const run = await runAgent({ models: { main: new ScriptedModel([]) }, tools: EXEC, apis: BOX, box });
    expect(run.failed.data).toMatchObject({
      code: "box.capacity",
      retryable: true,
      error: "All 64 boxes are busy.",
      hint: textLike(/^Try again later\..*box-enabled: false/),
    });
  });
});

describe("the user message", () => {
  const image = { mimeType: "image/png", base64: "QUJD", sizeBytes: 3 };
  const shot = attachment(0, { type: "image", name: "a.png", mime_type: "image/png", size: 3 });
  const input = {
    text: "Look",
    contents: [
      { type: "text" as const, text: "Look" },
      { type: "attachment" as const, reference: "attachment-0" },
    ],
    attachments: [shot],
  };
  const vision = [aModel("main", { abilities: ["func_call", "vision"] })];

  it("tells of an event that is no message, also where it says nothing", async () => {
    const event = { event_type: "group.member_joined" as const };
    const { messages } = await ask({ text: null, event });
    expect(messages.at(-1)).toMatchObject({
      role: "user",
      content: textWith('"event_type":"group.member_joined"'),
    });
    const said = (await ask({ text: "Let me in", event })).messages.at(-1);
    expect(said?.content).toMatch(/^Let me in\n\n\{"type":"event"/);
  });

  it("has the text once and keeps the image", async () => {
    proves("AGENT-10");
    for (const streaming of [true, false]) {
      const { messages } = await ask({
        streaming,
        input,
        resources: vision,
        images: { "attachment-0": image },
      });
      expect(messages.at(-1)?.content).toEqual([
        { type: "text", text: "Look" },
        { type: "image_url", image_url: { url: "data:image/png;base64,QUJD" } },
        { type: "text", text: textWith('"type":"input_attachments"') },
      ]);
    }
  });

  it("shows a note with path, type and size instead of an image that the model cannot see", async () => {
    const { run, messages } = await ask({
      input,
      tools: EXEC,
      apis: BOX,
      images: { "attachment-0": image },
      imported: [
        imported(0, {
          type: "image",
          path: "/workspace/inbox/run_1/0/a.png",
          mime_type: "image/png",
          bytes: 3,
        }),
      ],
    });
    expect(run.host.actions).toEqual(["bind", "import", "history newest"]);
    expect(messages.at(-1)?.content).toContainEqual({
      type: "text",
      text: "[image not shown: /workspace/inbox/run_1/0/a.png, image/png, 3 bytes]",
    });
    expect(JSON.stringify(messages)).not.toContain("QUJD");
  });

  it("sends the image to the candidate that sees and the note to the one that does not", async () => {
    using blind = new ScriptedModel([text("")]);
    using seeing = new ScriptedModel([text("ok")]);
    await runAgent({
      models: { blind, seeing },
      resources: [aModel("blind"), aModel("seeing", { abilities: ["vision"] })],
      input,
      images: { "attachment-0": image },
    });
    expect(JSON.stringify(blind.request().messages)).not.toContain("QUJD");
    expect(JSON.stringify(seeing.request().messages)).toContain("QUJD");
  });

  it.each([
    ["8 in number", Array.from({ length: 10 }, () => 1), "IIIIIIII.."],
    ["5 MiB each and 10 MiB together", [6, 4, 4, 3, 2, 1].map((mib) => mib * 1024 * 1024), ".II.I."],
  ])("sends images up to %s", async (_, sizes, expected) => {
    const attachments = sizes.map((size, i) =>
      attachment(i, { type: "image", mime_type: "image/png", size }),
    );
    const images = Object.fromEntries(
      sizes.map((sizeBytes, i) => [
        `attachment-${i}`,
        { mimeType: "image/png", base64: `QQ${i}`, sizeBytes },
      ]),
    );
    const contents = attachments.map(({ reference }) => ({ type: "attachment" as const, reference }));
    const { messages } = await ask({
      input: { text: null, contents, attachments },
      resources: vision,
      images,
    });
    const parts = messages.at(-1)?.content;
    const kinds = Array.isArray(parts)
      ? parts.map(({ type }) => (type === "image_url" ? "I" : ".")).join("")
      : "";
    expect(kinds).toBe(`${expected}.`);
  });

  it("sends no image of a type that models do not read", async () => {
    const { messages } = await ask({
      input,
      resources: vision,
      images: { "attachment-0": { ...image, mimeType: "image/bmp" } },
    });
    expect(JSON.stringify(messages)).not.toContain("image_url");
  });

  it("lists contents in their order, without the text when there is none", async () => {
    const parts = [
      { type: "text" as const, text: "one" },
      { type: "text" as const, text: "two" },
    ];
    const { messages } = await ask({ input: { text: null, contents: parts, attachments: [] } });
    expect(messages.at(-1)?.content).toEqual(parts);
    const single = await ask({ input: { text: null, contents: parts.slice(0, 1), attachments: [] } });
    expect(single.messages.at(-1)?.content).toBe("one");
  });
});

const noteSchema = z.looseObject({
  attachments: z.array(z.record(z.string(), z.unknown())),
  omitted_count: z.number().optional(),
});

function readNote(note: string | null): z.infer<typeof noteSchema> {
  return noteSchema.parse(JSON.parse(note ?? "null"));
}

function lookCall(id: string) {
  return { id, type: "function" as const, function: { name: "look", arguments: "{}" } };
}

describe("the attachment note", () => {
  it("names path and facts, tells why a file is missing, and never copies bytes", () => {
    const note = attachmentNote(
      [
        attachment(0, { id: "p1" }),
        attachment(1),
        attachment(2, { source: "url", url: "https://example.org/x" }),
      ],
      [imported(0), imported(1, { state: "refused", path: null, reason: "Larger than 10 MiB." })],
    );
    expect(readNote(note)).toMatchObject({ type: "input_attachments", trust: "untrusted_reference_data" });
    expect(readNote(note).attachments).toEqual([
      {
        type: "file",
        mime_type: "text/csv",
        size_bytes: 10,
        name: "0.csv",
        source: "base64",
        path: "/workspace/inbox/run_1/0/0.csv",
        platform_attachment_id: "p1",
      },
      {
        type: "file",
        mime_type: "text/csv",
        size_bytes: 10,
        name: "1.csv",
        source: "base64",
        reference: "attachment-1",
        inline_content_omitted: true,
        inline_content_chars: 16,
        refused: "Larger than 10 MiB.",
      },
      {
        type: "file",
        mime_type: "text/csv",
        size_bytes: 10,
        name: "2.csv",
        source: "url",
        url: "https://example.org/x",
      },
    ]);
    expect(attachmentNote([], [])).toBeNull();
  });

  it("holds 20 entries of 512 characters per field, and 8000 characters in all", () => {
    const many = readNote(
      attachmentNote(
        Array.from({ length: 25 }, (_, i) => attachment(i)),
        [],
      ),
    );
    expect(many.attachments).toHaveLength(20);
    expect(many.omitted_count).toBe(5);
    const long = attachmentNote(
      Array.from({ length: 20 }, (_, i) =>
        attachment(i, { source: "url", url: "u".repeat(900), name: "n".repeat(900) }),
      ),
      [],
    );
    expect(long?.length).toBeLessThanOrEqual(8000);
    expect(readNote(long)).toMatchObject({ truncated: true, omitted_count: 15 });
    expect(readNote(long).attachments[0]?.["name"]).toHaveLength(512);
  });
});
