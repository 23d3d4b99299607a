import { describe, expect, it } from "vitest";
import { ServiceError } from "../../../src/domain/errors.js";
import type { RunRecord } from "../../../src/ports/run-store.js";
import { admitMessage, repeatRun } from "../../../src/runs/admit-message.js";
import type { Caller, EventRequest, IncomingContent, MessageRequest } from "../../../src/runs/run-request.js";
import { nativeTools } from "../../../src/tools/native/index.js";
import { CountingIds } from "../../fakes/counting-ids.js";
import { ScriptedRunner } from "../../fakes/scripted-runner.js";
import {
  aChat,
  anEvent,
  anEventRequest,
  aPipeline,
  aPolicy,
  aRequest,
  CALLER,
} from "../../support/builders.js";
import { proves } from "../../support/proves.js";
import { anOutcome, aRun } from "../../support/records.js";
import { aRunWorld, NEVER, type RunWorld, sniffByName, type WorldOptions } from "../../support/run-world.js";

const TOOLS = nativeTools({ outputChars: 1000 });
const PIPELINES = [
  aPipeline(),
  aPipeline({ id: "second" }),
  aPipeline({ id: "no-box", policy: aPolicy({ allowed_tool_names: ["export_box_files"] }) }),
];

function aBoxWorld(template: string, options: WorldOptions = {}): RunWorld {
  return aRunWorld({
    runner: new ScriptedRunner({ template }),
    tools: TOOLS,
    pipelines: PIPELINES,
    ...options,
  });
}

interface Admission {
  readonly id?: RunRecord["id"];
  readonly caller?: Caller;
  readonly checkRoom?: (conversation: string) => void;
}

async function admit(
  world: RunWorld,
  fields: Partial<MessageRequest> | EventRequest = {},
  { id = "run_1", caller = CALLER, checkRoom = () => undefined }: Admission = {},
): Promise<RunRecord> {
  const { plan, boxes, clock, stores } = world;
  const prepare = { ...stores, sniffMimeType: sniffByName, maxFileBytes: 1000 };
  const deps = { plan, boxes, clock, prepare, runs: stores.runs, ids: new CountingIds() };
  return admitMessage(
    deps,
    { id, request: "event" in fields ? fields : aRequest(fields), caller, checkRoom },
    { signal: NEVER },
  );
}

describe("admitMessage", () => {
  it("makes a queued run that knows all its execution needs", async () => {
    await using world = aBoxWorld("{launcher_type}_{launcher_id}");
    const run = await admit(world, { variables: { lang: "en", api_key: "k" }, surface: "sse" });
    expect(run).toMatchObject({
      id: "run_1",
      tenant: "main",
      pipeline: "default",
      runner: "plugin:berth/local-agent/default",
      surface: "sse",
      state: "queued",
      session: { key: "person_42" },
      input: { text: "Hello", contents: [], attachments: [] },
      params: { lang: "en" },
      onDisconnect: "continue",
      retryOf: null,
      createdAt: world.clock.now(),
      startedAt: null,
      message: null,
      error: null,
    });
    expect(await world.stores.runs.listOpen()).toEqual([]);
  });

  it("finds the session of a chat again, and creates nothing on the engine", async () => {
    await using world = aBoxWorld("{launcher_type}_{launcher_id}");
    const first = await admit(world);
    const second = await admit(world, {}, { id: "run_2" });
    const other = await admit(world, { chat: aChat({ launcher_id: "43" }) }, { id: "run_3" });
    expect(second.session).toEqual(first.session);
    expect(other.session?.id).not.toBe(first.session?.id);
    expect(world.backend.counts).toMatchObject({ volumesCreated: 0, containersCreated: 0 });
  });

  it("keeps the sessions of two tenants apart, whatever their keys look like", async () => {
    await using world = aBoxWorld("{global}");
    const mine = await admit(world);
    const theirs = await admit(world, {}, { id: "run_2", caller: { tenant: "other", role: "client" } });
    expect(mine.session?.key).toBe(theirs.session?.key);
    expect(mine.session?.id).not.toBe(theirs.session?.id);
  });

  it("gives no session to a run without exec or file tools, and acquires no box", async () => {
    await using world = aBoxWorld("{launcher_id}");
    expect((await admit(world, { pipeline: "no-box" })).session).toBeNull();
    expect(await world.stores.sessions.listAll()).toEqual([]);
  });

  it("gives none where boxes are switched off", async () => {
    await using world = aBoxWorld("{launcher_id}", { boxesEnabled: false });
    expect((await admit(world)).session).toBeNull();
  });

  it.each([
    ["{nope}", {}, "nope"],
    ["{sender_id}", { chat: aChat({ sender_id: null }) }, "sender_id"],
    ["{sender_id}", { chat: aChat({ sender_id: "" }) }, "sender_id"],
  ])(
    "names the variable that %s misses; nothing is acquired, nothing kept",
    async (template, fields, name) => {
      proves("KEY-03", "KEY-11");
      await using world = aBoxWorld(template);
      await expect(admit(world, fields)).rejects.toMatchObject({
        code: "session.variable_missing",
        details: { variable: name },
      });
      expect(await world.stores.sessions.listAll()).toEqual([]);
      expect(world.backend.counts.volumesCreated).toBe(0);
    },
  );

  it("asks for room before it keeps anything", async () => {
    await using world = aBoxWorld("{launcher_id}");
    const asked: string[] = [];
    const full = (conversation: string): void => {
      asked.push(conversation);
      throw new ServiceError("run.queue_full", "Full.");
    };
    await expect(admit(world, {}, { checkRoom: full })).rejects.toMatchObject({ code: "run.queue_full" });
    expect(asked).toEqual([(await admit(world)).conversation]);
    expect(await world.stores.sessions.listAll()).toHaveLength(1);
  });

  it.each([
    ["pipeline.not_found", { pipeline: "none" }],
    [
      "file.not_found",
      {
        contents: [
          {
            type: "attachment",
            kind: "file",
            name: null,
            mimeType: null,
            source: { kind: "file", fileId: "file_9" },
          } satisfies IncomingContent,
        ],
      },
    ],
  ])("refuses with %s before there is a session", async (code, fields) => {
    await using world = aBoxWorld("{launcher_id}");
    await expect(admit(world, fields)).rejects.toMatchObject({ code });
    expect(await world.stores.sessions.listAll()).toEqual([]);
  });

  it("gives one event id to one local message, and others to other messages, pipelines and chats", async () => {
    proves("CTX-05");
    await using world = aBoxWorld("{launcher_id}");
    const eventId = async (fields: Partial<MessageRequest>, of: Admission = {}): Promise<string> =>
      (await admit(world, fields, of)).eventId;
    const one = await eventId({});
    expect(one).toMatch(/^host:[0-9a-f]{32}$/);
    expect(await eventId({})).toBe(one);
    const others = [
      await eventId({ pipeline: "second" }),
      await eventId({ surface: "sse" }),
      await eventId({ chat: aChat({ bot_id: "b" }) }),
      await eventId({ chat: aChat({ conversation_id: "c" }) }),
      await eventId({}, { id: "run_2" }),
      await eventId({}, { caller: { tenant: "other", role: "client" } }),
    ];
    expect(new Set([one, ...others]).size).toBe(7);
  });
});

describe("repeatRun", () => {
  const outcome = {
    index: 0,
    name: "a.csv",
    path: "/workspace/inbox/run_1/0/a.csv",
    bytes: 1,
    mime_type: "text/csv",
    state: "imported",
    reason: null,
  } as const;
  const blob = { kind: "blob", sha256: "a".repeat(64), sizeBytes: 1 } as const;

  it("is a new queued run with the same message, that knows which one it repeats", () => {
    const failed = {
      ...aRun({ params: { lang: "en" }, startedAt: 2000 }),
      ...anOutcome({ state: "failed" }),
    };
    expect(repeatRun(failed, "run_2", 7000)).toEqual({
      ...aRun({ params: { lang: "en" } }),
      id: "run_2",
      retryOf: "run_1",
      createdAt: 7000,
    });
  });

  it("keeps the place of a file that was imported, so that it is not imported twice", () => {
    const run = aRun({ attachments: [outcome], attachmentSources: [blob] });
    expect(repeatRun(run, "run_2", 0).attachments).toEqual([{ ...outcome, state: "pending" }]);
  });

  it("tries again what could not be had, and not what was refused for good", () => {
    const refusedOutcome = { ...outcome, path: null, state: "refused", reason: "404" } as const;
    const run = aRun({
      attachments: [refusedOutcome, { ...refusedOutcome, index: 1, reason: "too large" }],
      attachmentSources: [
        { kind: "url", url: "https://example.com/a.csv" },
        { kind: "refused", reason: "too large", sizeBytes: 9 },
      ],
    });
    expect(repeatRun(run, "run_2", 0).attachments.map(({ state, reason }) => [state, reason])).toEqual([
      ["pending", null],
      ["refused", "too large"],
    ]);
  });
});

describe("admitMessage, given an event", () => {
  const LISTENERS = [
    aPipeline(),
    aPipeline({ id: "door", events: ["group.member_joined", "friend.request_received"] }),
  ];

  it("makes a run of the pipeline that listens, with what the event says", async () => {
    await using world = aRunWorld({ pipelines: LISTENERS });
    const subject = { type: null, id: "g1", data: { role: "guest" } };
    const event = anEvent({ time: 1_700_000_000_250, subject, data: { count: 2, raw: {} } });
    const run = await admit(world, anEventRequest({ event, text: null }));
    expect(run).toMatchObject({
      pipeline: "door",
      chat: aChat(),
      input: { text: null, contents: [], attachments: [] },
      trigger: {
        event_type: "group.member_joined",
        event_time: 1_700_000_000.25,
        actor: { id: "42" },
        subject: { type: "group", id: "g1", data: { role: "guest" } },
        data: { count: 2 },
      },
    });
  });

  it("stands in the conversation of its chat, with the messages of that pipeline", async () => {
    await using world = aRunWorld({ pipelines: LISTENERS });
    const event = await admit(world, anEventRequest());
    const message = await admit(world, { pipeline: "door" }, { id: "run_2" });
    expect(event.conversation).toBe(message.conversation);
  });

  it("stands alone without a chat: each event for itself", async () => {
    await using world = aRunWorld({ pipelines: LISTENERS });
    const checked: string[] = [];
    const checkRoom = (conversation: string): void => void checked.push(conversation);
    const lone = anEventRequest({ chat: null, event: anEvent({ type: "friend.request_received" }) });
    const first = await admit(world, lone, { checkRoom });
    const second = await admit(world, lone, { id: "run_2", checkRoom });
    expect(first).toMatchObject({ chat: null, session: null });
    expect(checked).toEqual([first.conversation, second.conversation]);
    expect(first.conversation).not.toBe(second.conversation);
    expect(first.eventId).not.toBe(second.eventId);
  });

  it("is refused where its box needs a chat, and gets one under a template that does without", async () => {
    const lone = anEventRequest({ chat: null, pipeline: "default" });
    await using chatty = aBoxWorld("{launcher_type}_{launcher_id}");
    await expect(admit(chatty, lone)).rejects.toMatchObject({ code: "session.variable_missing" });
    await using open = aBoxWorld("{event_type}");
    expect((await admit(open, lone)).session).toMatchObject({ key: "group.member_joined" });
  });

  it("is refused where two pipelines listen", async () => {
    await using world = aRunWorld({ pipelines: [aPipeline(), aPipeline({ id: "second" })] });
    const event = anEvent({ type: "message.received" });
    await expect(admit(world, anEventRequest({ event }))).rejects.toMatchObject({
      code: "pipeline.ambiguous",
    });
    expect(await admit(world, anEventRequest({ event, pipeline: "second" }))).toMatchObject({
      pipeline: "second",
    });
  });
});
