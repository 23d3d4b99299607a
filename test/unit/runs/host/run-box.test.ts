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
import { textLike } from "../../../support/text-like.js";

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

  it("is of one box for the run's life: another is refused, the same again is the same", async () => {
    proves("KEY-14");
    await using setting = await aSetting();
    const own = await setting.box.bind(CALL);
    const other = await setting.box.acquire({ reuse_key: "other" }, CALL);
    await expect(setting.box.bind({ ...CALL, box: other.id })).rejects.toMatchObject({
      code: "box.bind_conflict",
      message: "A run cannot change its box after binding.",
    });
    expect(await setting.box.bind({ ...CALL, box: own.sessionId })).toEqual(own);
    expect(await setting.box.bind(CALL)).toEqual(own);
    expect(setting.world.backend.counts.containersCreated).toBe(1);
  });

  it("is won by exactly one of two different binds at once, whichever comes first", async () => {
    proves("KEY-14");
    for (const isOwnFirst of [true, false]) {
      await using setting = await aSetting();
      const { id } = await setting.box.acquire({ reuse_key: "other" }, CALL);
      const own = setting.run.session?.id;
      const order = isOwnFirst ? [own, id] : [id, own];
      const answers = await Promise.allSettled(order.map((box) => setting.box.bind({ ...CALL, box })));
      expect(answers).toMatchObject([
        { status: "fulfilled", value: { sessionId: order[0] } },
        { status: "rejected", reason: { code: "box.bind_conflict" } },
      ]);
      expect((await setting.world.record("run_1")).session?.id).toBe(order[0]);
      expect((await setting.box.bind(CALL)).sessionId).toBe(order[0]);
      expect(setting.box.forTools()?.sessionId).toBe(order[0]);
      expect(setting.world.backend.counts.containersCreated).toBe(1);
    }
  });

  it("goes to the other where the first of two fails, as for a box of nobody or of another tenant", async () => {
    await using setting = await aSetting();
    const foreign = await setting.world.boxes.acquire("tenant-2", { reuse_key: "theirs" }, CALL);
    for (const box of ["ses_nobody" as const, foreign.session.id]) {
      await expect(setting.box.bind({ ...CALL, box })).rejects.toMatchObject({ code: "session.not_found" });
    }
    const answers = await Promise.allSettled([
      setting.box.bind({ ...CALL, box: "ses_nobody" }),
      setting.box.bind(CALL),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
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

describe("RunBox: acquire", () => {
  it("plans a box, makes nothing, and is bound with the image that was allowed and chosen", async () => {
    proves("KEY-12");
    await using setting = await aSetting({}, { allowedImages: ["other:1"] });
    const request = { reuse_key: "mine", options: { image: "other:1" } };
    const acquired = await setting.box.acquire(request, CALL);
    expect(acquired).toEqual({ id: textLike(/^ses_/), status: "none" });
    expect(await setting.box.acquire({ reuse_key: "mine" }, CALL)).toEqual(acquired);
    expect(setting.world.backend.counts).toMatchObject({ containersCreated: 0, volumesCreated: 0 });
    await setting.box.acquire(request, CALL);
    await setting.box.bind({ ...CALL, box: acquired.id });
    expect(setting.box.forTools()?.settings.image).toBe("other:1");
    expect((await setting.box.acquire({ reuse_key: "mine" }, CALL)).status).toBe("ready");
  });

  it.each(["host_path", "extra_mounts", "max_sessions", "memory_mb", "session_id", "image"])(
    "refuses the option %s, and nothing is created",
    async (field) => {
      proves("KEY-12");
      await using setting = await aSetting();
      const before = await setting.world.stores.sessions.listAll();
      const refused = setting.box.acquire({ reuse_key: "mine", options: { [field]: "x" } }, CALL);
      await expect(refused).rejects.toMatchObject({ param: field });
      expect(await setting.world.stores.sessions.listAll()).toEqual(before);
      expect(setting.world.backend.counts).toMatchObject({ containersCreated: 0, volumesCreated: 0 });
    },
  );

  it("is not for a run without a session", async () => {
    await using setting = await aSetting({ session: null });
    await expect(setting.box.acquire({ reuse_key: "mine" }, CALL)).rejects.toMatchObject({
      code: "box.forbidden",
    });
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
