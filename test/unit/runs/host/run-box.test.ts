import { describe, expect, it } from "vitest";
import { LocalRunEvents } from "../../../../src/adapters/system/local-run-events.js";
import type { Attachment, AttachmentOutcome, AttachmentSource } from "../../../../src/domain/attachment.js";
import { ServiceError } from "../../../../src/domain/errors.js";
import { SecretMask } from "../../../../src/lib/secret-mask.js";
import type { RunRecord } from "../../../../src/ports/run-store.js";
import type { ToolBox } from "../../../../src/ports/tool.js";
import { RunBox } from "../../../../src/runs/host/run-box.js";
import { RunGate } from "../../../../src/runs/host/run-gate.js";
import { RunRecorder } from "../../../../src/runs/record-run.js";
import { FakeOutboundFetch } from "../../../fakes/fake-outbound-fetch.js";
import { proves } from "../../../support/proves.js";
import { aRun } from "../../../support/records.js";
import { aRunWorld, NEVER, type RunWorld, type WorldOptions } from "../../../support/run-world.js";

const CALL = { signal: NEVER };
const OUTBOX = "/workspace/outbox/run_1";

interface Setting extends AsyncDisposable {
  readonly world: RunWorld;
  readonly box: RunBox;
  readonly gate: RunGate;
  readonly signal: AbortController;
  readonly run: RunRecord;
  /** Writes a file into the box, as a command would. */
  put(path: string, text: string): void;
  read(path: string): Promise<string | null>;
}

/** A run with a session, and its box. */
async function aSetting(fields: Partial<RunRecord> = {}, options: WorldOptions = {}): Promise<Setting> {
  const world = aRunWorld(options);
  const key = { template: "{global}", key: "global", identity: "identity-1" };
  const session = await world.boxes.findOrCreateSession("main", key, CALL);
  const run = aRun({ session: { id: session.id, key: session.key }, ...fields });
  await world.stores.runs.create(run);
  const signal = new AbortController();
  const gate = new RunGate({ runId: run.id, signal: signal.signal, logger: world.logger });
  const deps = {
    ...world.stores,
    events: new LocalRunEvents(),
    clock: world.clock,
    mask: new SecretMask([]),
  };
  const recorder = new RunRecorder(deps, run);
  const box = new RunBox(world.host.box, { run, recorder, gate, renderKey: () => key });
  const tree = () => world.backend.tree(session.volume);
  return {
    world,
    box,
    gate,
    signal,
    run,
    put: (path, text) => {
      tree().put(path, text);
    },
    read: async (path) => {
      const found = tree().find(path.split("/").slice(2));
      return found.ok && found.value.kind === "file" ? Buffer.from(found.value.bytes).toString() : null;
    },
    [Symbol.asyncDispose]: async () => {
      await box.leave();
      await world[Symbol.asyncDispose]();
    },
  };
}

function anAttachment(index: number, fields: Partial<Attachment> = {}): Attachment {
  return {
    reference: `attachment-${index}`,
    type: "file",
    source: "upload",
    url: null,
    id: null,
    name: `file-${index}.txt`,
    mime_type: "text/plain",
    size: null,
    path: null,
    ...fields,
  };
}

function pending(index: number): AttachmentOutcome {
  return {
    index,
    name: `file-${index}.txt`,
    path: null,
    bytes: null,
    mime_type: "text/plain",
    state: "pending",
    reason: null,
  };
}

function withAttachments(attachments: readonly Attachment[], attachmentSources: readonly AttachmentSource[]) {
  return {
    input: { text: "See", contents: [], attachments: [...attachments] },
    attachments: attachments.map((_attachment, index) => pending(index)),
    attachmentSources: [...attachmentSources],
  };
}

async function store(world: RunWorld, text: string): Promise<AttachmentSource> {
  await using staging = await world.stores.blobs.stage();
  await staging.write(Buffer.from(text));
  const blob = await staging.commit();
  return { kind: "blob", ...blob };
}

async function boundToolBox(box: RunBox): Promise<ToolBox> {
  await box.bind(CALL);
  const tools = box.forTools();
  if (tools === null) throw new Error("The box is not bound.");
  return tools;
}

describe("RunBox: bind", () => {
  it("acquires the box of the run's session, with empty directories of the run's own", async () => {
    await using setting = await aSetting();
    const bound = await setting.box.bind(CALL);
    expect(bound).toMatchObject({
      sessionId: setting.run.session?.id,
      inbox: "/workspace/inbox/run_1",
      outbox: OUTBOX,
    });
  });

  it("gives the same to all who bind, also at once, and starts one box", async () => {
    await using setting = await aSetting();
    const bound = await Promise.all([setting.box.bind(CALL), setting.box.bind(CALL), setting.box.bind(CALL)]);
    expect(bound[1]).toEqual(bound[0]);
    expect(bound[2]).toEqual(bound[0]);
    expect(setting.world.backend.counts).toMatchObject({ containersCreated: 1, opens: 1 });
  });

  it("makes a session anew that was deleted after the message came, and says so in the ledger", async () => {
    await using setting = await aSetting();
    const deleted = setting.run.session?.id ?? "ses_none";
    await setting.world.boxes.removeSession("main", deleted, CALL);
    const { sessionId } = await setting.box.bind(CALL);
    expect(sessionId).not.toBe(deleted);
    expect((await setting.world.record("run_1")).session).toEqual({ id: sessionId, key: "global" });
  });

  it("acquires no box for a run without a session", async () => {
    proves("KEY-18");
    await using setting = await aSetting({ session: null });
    await expect(setting.box.bind(CALL)).rejects.toMatchObject({
      code: "box.forbidden",
      message: "This run has no box.",
    });
    expect(setting.world.backend.counts.volumesCreated).toBe(0);
  });

  it("fails with the engine's error, and a later bind tries again", async () => {
    await using setting = await aSetting();
    setting.world.backend.isAvailable = false;
    await expect(setting.box.bind(CALL)).rejects.toMatchObject({ code: "box.engine_unavailable" });
    expect(setting.box.forTools()).toBeNull();
    setting.world.backend.isAvailable = true;
    expect(await setting.box.bind(CALL)).toMatchObject({ outbox: OUTBOX });
  });

  it("ends with the run", async () => {
    await using setting = await aSetting();
    const binding = setting.box.bind(CALL);
    setting.signal.abort(new ServiceError("cancelled", "The run was cancelled."));
    await expect(binding).rejects.toMatchObject({ code: "cancelled" });
    expect(await setting.box.leave()).toEqual([]);
  });

  it("tells the status of boxes", async () => {
    await using setting = await aSetting();
    expect(await setting.box.status(CALL)).toMatchObject({ enabled: true, available: true });
  });
});

describe("RunBox: attachments", () => {
  it("imports all of them once, tells it in events, and keeps it with the run", async () => {
    const world = aRunWorld();
    const source = await store(world, "a,b");
    await world[Symbol.asyncDispose]();
    const fields = withAttachments(
      [anAttachment(0), anAttachment(1)],
      [source, { kind: "refused", reason: "too large", sizeBytes: 9 }],
    );
    await using setting = await aSetting(fields, { stores: world.stores });
    await setting.box.bind(CALL);
    const imported = await setting.box.importAttachments(CALL);
    expect(imported.map(({ reference, type, state, path }) => [reference, type, state, path])).toEqual([
      ["attachment-0", "file", "imported", "/workspace/inbox/run_1/0/file-0.txt"],
      ["attachment-1", "file", "refused", null],
    ]);
    expect(await setting.read("/workspace/inbox/run_1/0/file-0.txt")).toBe("a,b");
    expect(await setting.box.importAttachments(CALL)).toEqual(imported);
    const events = await setting.world.eventsOf("run_1");
    expect(events.map(({ type, data }) => [type, data["state"]])).toEqual([
      ["attachment.imported", "imported"],
      ["attachment.imported", "refused"],
    ]);
    expect((await setting.world.record("run_1")).attachments).toEqual(setting.box.attachments);
  });

  it("keeps what was fetched as bytes, so that another attempt fetches nothing", async () => {
    const url = "https://example.com/a.txt";
    const outbound = new FakeOutboundFetch({ [url]: Buffer.from("fetched") });
    const fields = withAttachments([anAttachment(0, { source: "url", url })], [{ kind: "url", url }]);
    await using setting = await aSetting(fields, { outbound });
    await setting.box.bind(CALL);
    await setting.box.importAttachments(CALL);
    expect((await setting.world.record("run_1")).attachmentSources).toMatchObject([
      { kind: "blob", sizeBytes: 7 },
    ]);
  });

  it("asks for the bind first", async () => {
    await using setting = await aSetting();
    await expect(setting.box.importAttachments(CALL)).rejects.toMatchObject({ code: "box.bind_required" });
  });

  it("imports nothing, and asks nothing of the box, where nothing is attached", async () => {
    await using setting = await aSetting();
    await setting.box.bind(CALL);
    expect(await setting.box.importAttachments(CALL)).toEqual([]);
    expect(setting.world.backend.counts.execs).toBe(0);
  });

  it("gives the bytes of an image, and of nothing else", async () => {
    const world = aRunWorld();
    const source = await store(world, "pixels");
    await world[Symbol.asyncDispose]();
    const image = anAttachment(0, { type: "image", name: "a.png" });
    const fields = withAttachments([image, anAttachment(1)], [source, source]);
    await using setting = await aSetting(fields, { stores: world.stores });
    expect(await setting.box.readImage("attachment-0", 100, CALL)).toMatchObject({ mimeType: "image/png" });
    expect(await setting.box.readImage("attachment-1", 100, CALL)).toBeNull();
    expect(await setting.box.readImage("attachment-9", 100, CALL)).toBeNull();
  });
});

describe("RunBox: tools", () => {
  it("offers no box before the bind", async () => {
    await using setting = await aSetting();
    expect(setting.box.forTools()).toBeNull();
    expect(await setting.box.saveToolResult("c1", "text", CALL)).toBeNull();
  });

  it("exports files, and tells each of them in one event and one count", async () => {
    await using setting = await aSetting();
    const tools = await boundToolBox(setting.box);
    setting.put(`${OUTBOX}/a.txt`, "A");
    setting.put(`${OUTBOX}/b.png`, "BB");
    expect(await tools.exportFiles([`${OUTBOX}/a.txt`], CALL)).toMatchObject({ ok: true });
    expect(await tools.exportFiles([`${OUTBOX}/b.png`], CALL)).toMatchObject({ ok: true });
    const events = await setting.world.eventsOf("run_1");
    expect(events.map(({ type, data }) => [type, data["name"], data["state"]])).toEqual([
      ["delivery.created", "a.txt", "pending"],
      ["delivery.created", "b.png", "pending"],
    ]);
    expect(setting.world.metrics.files).toEqual([
      { kind: "file", sizeBytes: 1 },
      { kind: "image", sizeBytes: 2 },
    ]);
    expect(await setting.read(`${OUTBOX}/a.txt`)).toBeNull();
  });

  it("tells a file once where several exports run at once", async () => {
    await using setting = await aSetting();
    const tools = await boundToolBox(setting.box);
    const names = ["a", "b", "c", "d"];
    for (const name of names) setting.put(`${OUTBOX}/${name}.txt`, name);
    await Promise.all(names.map((name) => tools.exportFiles([`${OUTBOX}/${name}.txt`], CALL)));
    const told = (await setting.world.eventsOf("run_1")).map(({ data }) => data["name"]);
    expect(told).toHaveLength(4);
    expect(new Set(told)).toEqual(new Set(["a.txt", "b.txt", "c.txt", "d.txt"]));
    expect(setting.world.metrics.files).toHaveLength(4);
  });

  it("tells nothing of an export that was refused", async () => {
    await using setting = await aSetting();
    const tools = await boundToolBox(setting.box);
    expect(await tools.exportFiles(["/etc/passwd"], CALL)).toMatchObject({ ok: false });
    expect(await setting.world.eventsOf("run_1")).toEqual([]);
  });

  it("accepts no export after a cancel, nor after the end", async () => {
    await using setting = await aSetting();
    const tools = await boundToolBox(setting.box);
    setting.put(`${OUTBOX}/a.txt`, "A");
    setting.signal.abort(new ServiceError("cancelled", "The run was cancelled."));
    await expect(tools.exportFiles([`${OUTBOX}/a.txt`], CALL)).rejects.toMatchObject({ code: "cancelled" });
    setting.gate.close();
    await expect(tools.exportFiles([`${OUTBOX}/a.txt`], CALL)).rejects.toMatchObject({
      code: "host.not_found",
    });
    expect(await setting.world.stores.files.listByRun("main", "run_1")).toEqual([]);
  });

  it("saves a long result in the box, under a harmless name", async () => {
    await using setting = await aSetting();
    await setting.box.bind(CALL);
    const path = await setting.box.saveToolResult("../call 1", "long text", CALL);
    expect(path).toMatch(/^\/workspace\/\.tool-results\/[\w.-]+$/);
    expect(await setting.read(path ?? "")).toBe("long text");
  });

  it("saves nothing in a workspace that cannot be written", async () => {
    await using setting = await aSetting({}, { workspaceMode: "ro" });
    await setting.box.bind(CALL);
    expect(await setting.box.saveToolResult("c1", "long text", CALL)).toBeNull();
  });
});

describe("RunBox: the end of the run", () => {
  it("lists what lies in the outbox while it still holds the box, then lets it go", async () => {
    const setting = await aSetting();
    const { world, box } = setting;
    await box.bind(CALL);
    setting.put(`${OUTBOX}/draft.txt`, "0123456789");
    expect(await box.leave()).toEqual([{ path: `${OUTBOX}/draft.txt`, bytes: 10 }]);
    const session = setting.run.session?.id ?? "ses_none";
    await world.boxes.removeSession("main", session, CALL);
    expect(await world.stores.sessions.listAll()).toEqual([]);
    await world[Symbol.asyncDispose]();
  });

  it("holds the box until then", async () => {
    await using setting = await aSetting();
    await setting.box.bind(CALL);
    const session = setting.run.session?.id ?? "ses_none";
    await expect(setting.world.boxes.removeSession("main", session, CALL)).rejects.toMatchObject({
      code: "box.conflict",
    });
  });

  it("lets the box go also where it cannot be listed", async () => {
    const setting = await aSetting();
    await setting.box.bind(CALL);
    setting.world.backend.isAvailable = false;
    await expect(setting.box.leave()).rejects.toMatchObject({ code: "box.engine_unavailable" });
    setting.world.backend.isAvailable = true;
    await setting.world.boxes.removeSession("main", setting.run.session?.id ?? "ses_none", CALL);
    expect(await setting.world.stores.sessions.listAll()).toEqual([]);
    await setting.world[Symbol.asyncDispose]();
  });

  it("waits for a bind that is still going on, so that no box stays held", async () => {
    const setting = await aSetting();
    const binding = setting.box.bind(CALL);
    await setting.box.leave();
    await binding;
    await setting.world.boxes.removeSession("main", setting.run.session?.id ?? "ses_none", CALL);
    expect(await setting.world.stores.sessions.listAll()).toEqual([]);
    await setting.world[Symbol.asyncDispose]();
  });

  it("has nothing to list where the bind that is going on fails", async () => {
    await using setting = await aSetting();
    setting.world.backend.isAvailable = false;
    const binding = setting.box.bind(CALL);
    const leaving = setting.box.leave();
    await expect(binding).rejects.toMatchObject({ code: "box.engine_unavailable" });
    expect(await leaving).toEqual([]);
  });

  it("has nothing to list for a run that bound no box", async () => {
    await using setting = await aSetting();
    expect(await setting.box.leave()).toEqual([]);
    expect(setting.world.backend.counts.opens).toBe(0);
  });
});
