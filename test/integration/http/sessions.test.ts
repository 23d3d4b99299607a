/** Sessions, their files and commands over real HTTP, on the engine in memory. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { z } from "zod";
import type { SessionRecord } from "../../../src/domain/session.js";
import { CONTRACTS } from "../../../src/http/contracts.js";
import {
  boxStatusSchema,
  deletedContentSchema,
  deletedSessionSchema,
  execEventSchema,
  execResultSchema,
  sessionFileSchema,
  sessionFilesSchema,
  sessionListSchema,
  sessionSchema,
} from "../../../src/http/schemas/session-bodies.js";
import { exited, printed } from "../../fakes/fake-box-commands.js";
import {
  ADMIN_KEY,
  CLIENT_KEY,
  type HttpService,
  json,
  OTHER_ADMIN_KEY,
  OTHER_KEY,
  startHttpService,
} from "../../support/http-service.js";
import { readError, readEvents } from "../../support/read-answer.js";
import { aRun } from "../../support/records.js";
import { textLike } from "../../support/text-like.js";

const ENDLESS = { signal: new AbortController().signal };

let service: HttpService;
beforeEach(async () => {
  service = await startHttpService();
});
afterEach(async () => {
  await service[Symbol.asyncDispose]();
});

async function aSession(chat: string, tenant = "main"): Promise<SessionRecord> {
  const key = { key: `person_${chat}`, identity: `0123456789abcdef0123-${tenant}-${chat}` };
  return service.boxes.findOrCreateSession(tenant, key, ENDLESS);
}

async function read<Schema extends z.ZodType>(schema: Schema, response: Response): Promise<z.infer<Schema>> {
  expect(response.status).toBe(200);
  return schema.parse(await response.json());
}

function content(id: string, path: string): string {
  return `/v1/sessions/${id}/files/content?path=${encodeURIComponent(path)}`;
}

async function put(id: string, path: string, body: string | Uint8Array): Promise<Response> {
  return service.fetch(content(id, path), { method: "PUT", body });
}

/** Puts a link, a fifo or such where a command in the box would. */
async function inBox(session: SessionRecord, command: string): Promise<void> {
  const { status } = await service.fetch(`/v1/sessions/${session.id}/exec`, {
    ...json({ command }),
    key: ADMIN_KEY,
  });
  expect(status).toBe(200);
}

describe("GET /v1/sessions", () => {
  it("lists sessions newest first, in pages behind a cursor", async () => {
    const ids = [];
    for (const chat of ["1", "2", "3"]) ids.push((await aSession(chat)).id);
    await aSession("4", "other");
    const first = await read(sessionListSchema, await service.fetch("/v1/sessions?limit=2"));
    expect(first.data.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
    expect(first).toMatchObject({ object: "list", has_more: true });
    expect(first.data[0]).toMatchObject({ object: "session", key: "person_3", box: { state: "none" } });
    const path = `/v1/sessions?limit=2&after=${first.next_cursor}`;
    const second = await read(sessionListSchema, await service.fetch(path));
    expect(second).toMatchObject({ data: [{ id: ids[0] }], has_more: false, next_cursor: null });
  });

  it("refuses a cursor that is not ours, and finds nothing behind one of another tenant", async () => {
    const refused = await service.fetch("/v1/sessions?after=run_1");
    expect(refused.status).toBe(400);
    expect(await readError(refused)).toMatchObject({ code: "request.invalid", param: "after" });
    const { id } = await aSession("1");
    const foreign = await service.fetch(`/v1/sessions?after=${id}`, { key: OTHER_KEY });
    expect((await read(sessionListSchema, foreign)).data).toEqual([]);
  });
});

describe("GET /v1/sessions/{id}", () => {
  it("shows key, box, limits, chats, last activity and the runs that have not ended", async () => {
    const { id, key } = await aSession("42");
    await service.stores.runs.create(aRun({ session: { id, key }, state: "running" }));
    await put(id, "a.txt", "x");
    service.clock.advance(5000);
    const session = await read(sessionSchema, await service.fetch(`/v1/sessions/${id}`));
    expect(session).toMatchObject({
      id,
      object: "session",
      key: "person_42",
      last_used_at: new Date(service.clock.now() - 5000).toISOString(),
      box: {
        state: "ready",
        engine: "fake",
        activity: { leases: 0, idle_sec: 5 },
        image: "berth-box:slim",
        network: "none",
        profile: "default",
        limits: { memory_mb: 512, cpus: 1, workspace_mode: "rw" },
      },
      chats: [{ launcher_type: "person", launcher_id: "42", last_run_at: "1970-01-01T00:00:01.000Z" }],
      active_runs: ["run_1"],
    });
    expect(JSON.stringify(session)).not.toMatch(/berth-ws-|"uid"|identity/);
  });

  it("tells a box that is gone from one that is not there yet", async () => {
    const session = await aSession("42");
    const state = async () =>
      (await read(sessionSchema, await service.fetch(`/v1/sessions/${session.id}`))).box.state;
    expect(await state()).toBe("none");
    await put(session.id, "a.txt", "x");
    const [container] = (await service.backend.listOwned(ENDLESS)).containers;
    await service.backend.stop(container?.name ?? "", ENDLESS);
    expect(await state()).toBe("stopped");
    service.backend.killContainer(container?.name ?? "");
    expect(await state()).toBe("lost");
    expect((await put(session.id, "a.txt", "y")).status).toBe(200);
    expect(await state()).toBe("ready");
  });
});

describe("POST /v1/sessions/{id}/stop", () => {
  it("gives the container up and keeps the workspace", async () => {
    const { id } = await aSession("42");
    await put(id, "a.txt", "kept");
    const stopped = await service.fetch(`/v1/sessions/${id}/stop`, { method: "POST" });
    expect((await read(sessionSchema, stopped)).box.state).toBe("stopped");
    expect((await service.backend.listOwned(ENDLESS)).containers).toEqual([]);
    expect(await (await service.fetch(content(id, "a.txt"))).text()).toBe("kept");
  });

  it("is refused with 409 while a run holds the box", async () => {
    const session = await aSession("42");
    await using _lease = await service.boxes.bind(session, "run_1", ENDLESS);
    const response = await service.fetch(`/v1/sessions/${session.id}/stop`, { method: "POST" });
    expect(response.status).toBe(409);
    expect(await readError(response)).toMatchObject({ code: "box.conflict", type: "conflict_error" });
  });
});

describe("DELETE /v1/sessions/{id}", () => {
  it("removes record, box and workspace", async () => {
    const { id } = await aSession("42");
    await put(id, "a.txt", "x");
    const response = await service.fetch(`/v1/sessions/${id}`, { method: "DELETE" });
    expect(await read(deletedSessionSchema, response)).toEqual({ id, object: "session", deleted: true });
    expect(await service.backend.listOwned(ENDLESS)).toEqual({ containers: [], volumes: [] });
    expect((await service.fetch(`/v1/sessions/${id}`)).status).toBe(404);
    expect((await service.fetch(`/v1/sessions/${id}`, { method: "DELETE" })).status).toBe(404);
  });

  it("is refused with 409 while a run holds the box, unless it is forced", async () => {
    const session = await aSession("42");
    await using _lease = await service.boxes.bind(session, "run_1", ENDLESS);
    const refused = await service.fetch(`/v1/sessions/${session.id}`, { method: "DELETE" });
    expect(refused.status).toBe(409);
    expect(await readError(refused)).toMatchObject({ code: "box.conflict" });
    const forced = await service.fetch(`/v1/sessions/${session.id}?force=true`, { method: "DELETE" });
    expect(forced.status).toBe(200);
    expect(await service.backend.listOwned(ENDLESS)).toEqual({ containers: [], volumes: [] });
  });
});

describe("files of a session", () => {
  it("are written with exact bytes, listed, read and removed", async () => {
    const { id } = await aSession("42");
    const bytes = Buffer.from([0, 255, 10, 13, 0x1a, 0xc3, 0x28]);
    const written = await read(sessionFileSchema, await put(id, "/workspace/d/报 告.bin", bytes));
    expect(written).toMatchObject({ path: "/workspace/d/报 告.bin", kind: "file", bytes: 7 });
    const listed = await service.fetch(`/v1/sessions/${id}/files?path=d`);
    expect(await read(sessionFilesSchema, listed)).toMatchObject({
      object: "list",
      path: "/workspace/d",
      data: [{ path: "/workspace/d/报 告.bin", kind: "file", bytes: 7 }],
      truncated: false,
    });
    const deep = await read(sessionFilesSchema, await service.fetch(`/v1/sessions/${id}/files?depth=2`));
    expect(deep.data.map(({ path }) => path)).toContain("/workspace/d/报 告.bin");
    const got = await service.fetch(content(id, "d/报 告.bin"));
    expect(Buffer.from(await got.arrayBuffer())).toEqual(bytes);
    const removed = await service.fetch(content(id, "d/报 告.bin"), { method: "DELETE" });
    expect(await read(deletedContentSchema, removed)).toMatchObject({ path: "/workspace/d/报 告.bin" });
    expect((await service.fetch(content(id, "d/报 告.bin"))).status).toBe(404);
  });

  it("come as downloads that no browser renders, with ranges", async () => {
    const { id } = await aSession("42");
    await put(id, "page.html", "<script>0123456789</script>");
    const whole = await service.fetch(content(id, "page.html"));
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename="page.html"; filename*=UTF-8''page.html`,
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff",
      "cache-control": "private, no-store",
      "content-length": "27",
      etag: textLike(/^"[0-9a-f]{32}"$/),
    });
    const part = await service.fetch(content(id, "page.html"), { headers: { range: "bytes=8-12" } });
    expect([part.status, part.headers.get("content-range"), await part.text()]).toEqual([
      206,
      "bytes 8-12/27",
      "01234",
    ]);
    const tag = whole.headers.get("etag") ?? "";
    const known = await service.fetch(content(id, "page.html"), { headers: { "if-none-match": tag } });
    expect(known.status).toBe(304);
    await put(id, "page.html", "other");
    const changed = await service.fetch(content(id, "page.html"), { headers: { "if-none-match": tag } });
    expect(await changed.text()).toBe("other");
    const head = await service.fetch(content(id, "page.html"), { method: "HEAD" });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, "5"]);
  });

  it("may be empty, and may come in chunks of unknown length", async () => {
    const { id } = await aSession("42");
    expect((await put(id, "empty", "")).status).toBe(200);
    expect(await (await service.fetch(content(id, "empty"))).text()).toBe("");
    const pieces = ["one ", "two ", "three"].map((text) => new TextEncoder().encode(text));
    const body = new ReadableStream({
      pull: (controller) => {
        const piece = pieces.shift();
        if (piece === undefined) controller.close();
        else controller.enqueue(piece);
      },
    });
    const init: RequestInit & { readonly duplex: "half" } = { method: "PUT", body, duplex: "half" };
    expect((await service.fetch(content(id, "chunked"), init)).status).toBe(200);
    expect(await (await service.fetch(content(id, "chunked"))).text()).toBe("one two three");
  });

  it("above the limit are refused with 413, naming both figures, and write nothing", async () => {
    const { id } = await aSession("42");
    const announced = await put(id, "big", "x".repeat(1001));
    expect(announced.status).toBe(413);
    expect((await readError(announced)).message).toBe("A file may have 1000 bytes; 1001 bytes came.");
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(900)),
    });
    const init: RequestInit & { readonly duplex: "half" } = { method: "PUT", body, duplex: "half" };
    const chunked = await service.fetch(content(id, "big"), init);
    expect(chunked.status).toBe(413);
    expect((await readError(chunked)).message).toMatch(/may have 1000 bytes; at least \d{4,} bytes came/);
    expect((await service.fetch(content(id, "big"))).status).toBe(404);
  });

  it("that are packed on the way are refused: bytes are taken as they come", async () => {
    const { id } = await aSession("42");
    const init = { method: "PUT", body: "x", headers: { "content-encoding": "gzip" } };
    const response = await service.fetch(content(id, "a.gz"), init);
    expect(response.status).toBe(415);
    expect(await readError(response)).toMatchObject({ param: "Content-Encoding" });
  });

  it("of a body that breaks off are not written", async () => {
    const { id } = await aSession("42");
    const leaving = new AbortController();
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new Uint8Array(10)),
    });
    const init: RequestInit & { readonly duplex: "half" } = { method: "PUT", body, duplex: "half" };
    const sent = service.fetch(content(id, "half"), { ...init, signal: leaving.signal });
    const logged = service.logger.lines.length;
    setImmediate(() => leaving.abort());
    await expect(sent).rejects.toThrow(/abort/);
    await (await service.fetch("/healthz", { key: null })).text();
    await expect.poll(() => service.logger.lines.length).toBeGreaterThan(logged);
    expect(service.logger.lines.filter(({ level }) => level === "error")).toEqual([]);
    expect((await service.fetch(content(id, "half"))).status).toBe(404);
  });

  it.each([
    ["/etc/passwd", 400, "box.validation", "escapes"],
    ["../../etc/passwd", 400, "box.validation", "escapes"],
    ["out/passwd", 400, "box.validation", "escapes"],
    ["out", 400, "box.validation", "not a regular file"],
    ["d", 400, "box.validation", "not a regular file"],
    ["none.txt", 404, "file.not_found", "not in the workspace"],
    ["d/none/x", 404, "file.not_found", "not in the workspace"],
  ])("named %s are answered with %i", async (...[path, status, code, says]) => {
    const session = await aSession("42");
    await inBox(session, "ln -s /etc /workspace/out; mkdir /workspace/d");
    const response = await service.fetch(content(session.id, path));
    expect(response.status).toBe(status);
    const error = await readError(response);
    expect(error).toMatchObject({ code, param: "path" });
    expect(error.message).toContain(says);
  });

  it("are listed with links that are not followed", async () => {
    const session = await aSession("42");
    await inBox(session, "ln -s / /workspace/out");
    const listed = await service.fetch(`/v1/sessions/${session.id}/files?depth=9`);
    const { data } = await read(sessionFilesSchema, listed);
    expect(data).toContainEqual(expect.objectContaining({ path: "/workspace/out", kind: "link" }));
    expect(data.filter(({ path }) => path.startsWith("/workspace/out/"))).toEqual([]);
    const inside = await service.fetch(`/v1/sessions/${session.id}/files?path=out`);
    expect(inside.status).toBe(400);
    expect((await readError(inside)).message).toContain("escapes");
  });

  it("and directories are removed only when that is said, the workspace never", async () => {
    const { id } = await aSession("42");
    await put(id, "d/a", "x");
    expect((await service.fetch(content(id, "d"), { method: "DELETE" })).status).toBe(400);
    expect((await service.fetch(content(id, "/workspace"), { method: "DELETE" })).status).toBe(400);
    const whole = await service.fetch(`${content(id, "d")}&recursive=true`, { method: "DELETE" });
    expect(whole.status).toBe(200);
    expect((await service.fetch(content(id, "d/a"))).status).toBe(404);
  });

  it("are refused with what stands in the way: a full engine, no engine, a read-only workspace", async () => {
    const { id } = await aSession("42");
    service.backend.isAvailable = false;
    const away = await service.fetch(`/v1/sessions/${id}/files`);
    expect(away.status).toBe(503);
    expect(await readError(away)).toMatchObject({ code: "box.engine_unavailable" });
    await using strict = await startHttpService({ boxes: { workspaceMode: "ro" } });
    const key = { key: "k", identity: "0123456789abcdef0123" };
    const session = await strict.boxes.findOrCreateSession("main", key, ENDLESS);
    const refused = await strict.fetch(content(session.id, "a"), { method: "PUT", body: "x" });
    expect(refused.status).toBe(403);
    expect(await readError(refused)).toMatchObject({ code: "box.forbidden" });
  });

  it("are served while a run works in the box", async () => {
    const session = await aSession("42");
    await using lease = await service.boxes.bind(session, "run_1", ENDLESS);
    expect((await put(session.id, "a.txt", "x")).status).toBe(200);
    const [stat] = await lease.handle.files.stat(["/workspace/a.txt"], ENDLESS);
    expect(stat).toMatchObject({ entry: { sizeBytes: 1 } });
  });
});

const exec = async (id: string, body: unknown, key = ADMIN_KEY) =>
  service.fetch(`/v1/sessions/${id}/exec`, { ...json(body), key });

describe("POST /v1/sessions/{id}/exec", () => {
  it("answers with the result of the exec tool", async () => {
    const { id } = await aSession("42");
    const response = await exec(id, {
      command: "echo hi; echo no >&2; exit 3",
      workdir: "d",
      timeout_sec: 5,
    });
    expect(await read(execResultSchema, response)).toMatchObject({
      session_id: id,
      status: "completed",
      ok: false,
      exit_code: 3,
      stdout: "hi\n",
      stderr: "no\n",
      notes: [],
    });
  });

  it("says in the notes what was lost before the command began", async () => {
    const { id } = await aSession("42");
    await exec(id, { command: "true" });
    await service.fetch(`/v1/sessions/${id}/stop`, { method: "POST" });
    const result = await read(execResultSchema, await exec(id, { command: "true" }));
    expect(result.notes).toEqual([textLike(/^The box was rested/)]);
  });

  it("streams output, then one final event", async () => {
    const { id } = await aSession("42");
    const response = await exec(id, { command: "echo hi; echo no >&2", stream: true });
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    const events = await readEvents(response);
    expect(events.map(({ event }) => event)).toEqual(["tool.output", "tool.output", "tool.call.completed"]);
    const data = events.map((event) => execEventSchema.parse(JSON.parse(event.data)));
    expect(data).toMatchObject([
      { type: "tool.output", session_id: id, data: { stream: "stdout", text: "hi\n" } },
      { type: "tool.output", data: { stream: "stderr", text: "no\n" } },
      { type: "tool.call.completed", data: { exit_code: 0, ok: true } },
    ]);
  });

  it("tells in the stream what goes wrong once it is open", async () => {
    const { id } = await aSession("42");
    const [event, ...more] = await readEvents(await exec(id, { command: " ", stream: true }));
    expect(more).toEqual([]);
    expect(execEventSchema.parse(JSON.parse(event?.data ?? ""))).toMatchObject({
      type: "error",
      data: { error: { code: "box.validation", message: textLike(/empty/) } },
    });
  });

  it.each([
    ["an empty command", { command: "" }, "request.invalid"],
    ["a command of spaces", { command: " " }, "box.validation"],
    ["a workdir outside", { command: "true", workdir: "/etc" }, "box.validation"],
    ["a reserved variable", { command: "true", env: { BERTH_INBOX: "x" } }, "box.validation"],
    ["an unknown field", { command: "true", background: true }, "request.invalid"],
    ["a time that is none", { command: "true", timeout_sec: "5" }, "request.invalid"],
  ])("refuses %s with 400", async (_case, body, code) => {
    const { id } = await aSession("42");
    const response = await exec(id, body);
    expect(response.status).toBe(400);
    expect(await readError(response)).toMatchObject({ code });
  });

  it("is for admin keys only, and a client key reaches no box", async () => {
    const { id } = await aSession("42");
    const response = await exec(id, { command: "true" }, CLIENT_KEY);
    expect(response.status).toBe(403);
    expect(await readError(response)).toMatchObject({ code: "auth.forbidden" });
    expect(service.backend.counts).toMatchObject({ execs: 0, containersCreated: 0 });
  });

  it.each([true, false])("stops its command when the client leaves (stream: %s)", async (stream) => {
    let stopped = 0;
    await using slow = await startHttpService({
      commands: (call) =>
        (async function* () {
          yield printed("begun\n");
          await new Promise<void>((resolve) => {
            call.signal.addEventListener("abort", () => resolve(), { once: true });
          });
          stopped += 1;
          yield exited(0);
        })(),
    });
    const key = { key: "k", identity: "0123456789abcdef0123" };
    const session = await slow.boxes.findOrCreateSession("main", key, ENDLESS);
    const leaving = new AbortController();
    const path = `/v1/sessions/${session.id}/exec`;
    const body = json({ command: "forever", stream });
    const sent = slow.fetch(path, { ...body, key: ADMIN_KEY, signal: leaving.signal });
    sent.catch(() => {});
    await expect.poll(() => slow.backend.counts.execs).toBe(1);
    leaving.abort();
    await expect.poll(() => stopped).toBe(1);
    await expect
      .poll(async () => (await slow.boxes.describe([session], ENDLESS))[0]?.activity.leases)
      .toBe(0);
  });
});

describe("GET /v1/boxes/status", () => {
  it("shows every key what is in force, and an admin key also the tenant's boxes and errors", async () => {
    const session = await aSession("42");
    const foreign = await aSession("1", "other");
    await using _held = await service.boxes.bind(session, "run_1", ENDLESS);
    await using _foreign = await service.boxes.bind(foreign, "run_2", ENDLESS);
    const open = await read(boxStatusSchema, await service.fetch("/v1/boxes/status"));
    expect(open).toMatchObject({
      enabled: true,
      available: true,
      limit: 3,
      used: 2,
      remaining: 1,
      required_reuse_key: null,
      reason: null,
      isolation: ["network-none"],
      quota: "watchdog",
      export_paths: true,
      engines: [
        { name: "fake", version: "1.0.0", images: ["berth-box:slim"], warnings: [], transport: "worker" },
      ],
      limits: { max_boxes: 3, idle_ttl_sec: 300, profile: "default", network: "none", memory_mb: 512 },
    });
    expect([open.boxes, open.recent_errors]).toEqual([undefined, undefined]);
    const admin = await service.fetch("/v1/boxes/status", { key: ADMIN_KEY });
    expect(await read(boxStatusSchema, admin)).toMatchObject({
      boxes: [{ session_id: session.id, key: "person_42", state: "ready", activity: { leases: 1 } }],
      recent_errors: [],
    });
  });

  it("does not even read for a client key what is not for it", async () => {
    service.stores.sessions.listAll = async () => Promise.reject(new Error("was read"));
    expect((await service.fetch("/v1/boxes/status")).status).toBe(200);
  });

  it("tells an engine that does not answer, with what failed lately", async () => {
    const session = await aSession("42");
    await put(session.id, "a", "x");
    service.backend.isAvailable = false;
    expect((await service.fetch(`/v1/sessions/${session.id}/files`)).status).toBe(503);
    const admin = await service.fetch("/v1/boxes/status", { key: ADMIN_KEY });
    const status = await read(boxStatusSchema, admin);
    expect(status).toMatchObject({
      enabled: true,
      available: false,
      limit: null,
      used: null,
      remaining: null,
      engines: [{ name: "fake", version: null, images: [] }],
      boxes: [{ session_id: session.id, state: "lost" }],
    });
    expect(status.recent_errors?.at(-1)).toMatchObject({ code: "box.engine_unavailable" });
  });
});

describe("a session of another tenant", () => {
  const routes = CONTRACTS.filter(({ path }) => path.startsWith("/v1/sessions/:id"));

  it.each(routes)("answers 404 to $method $path, with nothing of it, and makes no box", async (route) => {
    const { id } = await aSession("secret-chat");
    const body = route.body === undefined ? {} : { body: JSON.stringify({ command: "true" }) };
    const path = route.path.replace(":id", id);
    const needsPath = route.path.endsWith("/content") ? "?path=a.txt" : "";
    const response = await service.fetch(`${path}${needsPath}`, {
      key: OTHER_ADMIN_KEY,
      method: route.method.toUpperCase(),
      headers: { "content-type": "application/json" },
      ...(route.path.endsWith("/stop") ? {} : body),
    });
    expect(response.status).toBe(404);
    const text = await response.text();
    expect(text).toContain('"session.not_found"');
    expect(text).not.toContain("secret-chat");
    expect(service.backend.counts.containersCreated).toBe(0);
    expect((await service.fetch(`/v1/sessions/${id}`)).status).toBe(200);
  });

  it.each(routes)("is as unknown as an id that never was to $method $path", ({ errors }) => {
    expect(errors).toContain("session.not_found");
  });
});
