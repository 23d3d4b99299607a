/** Jobs of a session over HTTP (api §4, box §14). */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { SessionId } from "../../../src/domain/ids.js";
import { jobListSchema, jobOutputSchema, jobSchema } from "../../../src/http/schemas/job-bodies.js";
import { exited, type FakeCommand, printed } from "../../fakes/fake-box-commands.js";
import {
  ADMIN_KEY,
  CLIENT_KEY,
  type HttpService,
  json,
  OTHER_ADMIN_KEY,
  startHttpService,
} from "../../support/http-service.js";
import { readEvents } from "../../support/read-answer.js";

const KEY = { key: ADMIN_KEY };
const errorSchema = z.object({ error: z.object({ code: z.string() }) });

/** `split` cuts a character between two pieces. */
const commands: FakeCommand = ({ argv, input }) => (argv[2] === "split" ? split(input) : null);

async function* split(input: Parameters<FakeCommand>[0]["input"]) {
  const bytes = Buffer.from("aé");
  yield { type: "output" as const, stream: "stdout" as const, bytes: bytes.subarray(0, 2) };
  await input?.next();
  yield { type: "output" as const, stream: "stdout" as const, bytes: bytes.subarray(2) };
  yield printed("secret-word-canary", "stderr");
  yield exited(3);
}

async function codeOf(response: Response): Promise<string> {
  return errorSchema.parse(await response.json()).error.code;
}

describe("jobs over HTTP", () => {
  let service: HttpService;
  let id: SessionId;
  let jobs: string;

  beforeEach(async () => {
    service = await startHttpService({ commands });
    const call = { signal: new AbortController().signal };
    ({ id } = await service.boxes.findOrCreateSession("main", { key: "person_42", identity: "1" }, call));
    jobs = `/v1/sessions/${id}/jobs`;
  });
  afterEach(async () => {
    await service[Symbol.asyncDispose]();
  });

  const start = async (body: Readonly<Record<string, unknown>>) =>
    jobSchema.parse(await (await service.fetch(jobs, { ...json(body), ...KEY })).json());
  const get = async (path: string) => service.fetch(`${jobs}${path}`, KEY);
  const statusOf = async (path: string) => jobSchema.parse(await (await get(path)).json()).status;
  const send = async (job: string, body: Readonly<Record<string, unknown>>) =>
    service.fetch(`${jobs}/${job}/stdin`, { ...json(body), ...KEY });
  const output = async (job: string, query: string) =>
    jobOutputSchema.parse(await (await get(`/${job}/output?${query}`)).json());

  it("start under the id default, take input, and end with their code", async () => {
    const started = await start({ command: "cat" });
    expect(started).toMatchObject({ object: "job", id: "default", session_id: id, status: "running" });
    expect((await send("default", { data: "one\n" })).status).toBe(200);
    expect(await output("default", "wait_sec=5")).toMatchObject({
      output: [{ stream: "stdout", text: "one\n" }],
      next: 4,
      dropped_bytes: 0,
    });
    expect(
      jobSchema.parse(await (await send("default", { data: "dHdvCg==", encoding: "base64" })).json()).id,
    ).toBe("default");
    expect((await send("default", { data: "no base64!", encoding: "base64" })).status).toBe(400);
    await send("default", { end: true });
    const rest = await output("default", "after=4&wait_sec=5");
    expect(rest.output).toEqual([{ stream: "stdout", text: "two\n" }]);
    expect(jobSchema.parse(await (await get("/default")).json())).toMatchObject({
      status: "exited",
      exit_code: 0,
    });
    expect(await codeOf(await send("default", { data: "x" }))).toBe("box.process_not_found");
  });

  it("are listed with those that ended lately, and shown in the session and its box", async () => {
    await start({ command: "true", id: "short" });
    await start({ command: "sleep 1000", id: "long" });
    await expect.poll(async () => statusOf("/short")).toBe("exited");
    const list = jobListSchema.parse(await (await get("")).json());
    expect(list.data.map((job) => [job.id, job.status])).toEqual([
      ["long", "running"],
      ["short", "exited"],
    ]);
    const session: unknown = await (await service.fetch(`/v1/sessions/${id}`)).json();
    expect(session).toMatchObject({ box: { jobs: 1, activity: { leases: 1 } } });
  });

  it("stop when they are told to, and with their session", async () => {
    await start({ command: "sleep 1000", id: "a" });
    const stopped = await service.fetch(`${jobs}/a`, { method: "DELETE", ...KEY });
    expect(jobSchema.parse(await stopped.json())).toMatchObject({ status: "exited", exit_code: null });
    await start({ command: "sleep 1000", id: "b" });
    expect((await service.fetch(`/v1/sessions/${id}/stop`, { method: "POST" })).status).toBe(200);
    expect(await (await get("/b")).json()).toMatchObject({ status: "exited" });
    await start({ command: "sleep 1000", id: "c" });
    expect((await service.fetch(`/v1/sessions/${id}`, { method: "DELETE" })).status).toBe(200);
    expect(await codeOf(await get("/c"))).toBe("session.not_found");
  });

  it("cut their output between characters, and hide what the service keeps secret", async () => {
    await start({ command: "split", id: "split" });
    const first = await output("split", "wait_sec=5");
    expect(first).toMatchObject({ output: [{ text: "a" }], next: 1 });
    await send("split", { data: "go" });
    await expect.poll(async () => statusOf("/split")).toBe("exited");
    const rest = await output("split", `after=${first.next}`);
    expect(rest.output).toEqual([
      { stream: "stdout", text: "é" },
      { stream: "stderr", text: "[redacted]" },
    ]);
    expect(rest.job).toMatchObject({ exit_code: 3, stderr_preview: "[redacted]" });
  });

  it("are followed as events by one client at a time, until they end", async () => {
    await start({ command: "split", id: "split" });
    const following = await get("/split/output?stream=true");
    expect(following.headers.get("content-type")).toContain("text/event-stream");
    expect(await codeOf(await get("/split/output?stream=true"))).toBe("box.process_conflict");
    await send("split", { data: "go" });
    const events = await readEvents(following);
    expect(events.at(-1)?.event).toBe("job.ended");
    expect(events.at(-1)?.data).toContain('"exit_code":3');
    const text = events.map(({ data }) => data).join("");
    expect(text).toContain("é");
    const again = await readEvents(await get("/split/output?stream=true"));
    expect(again.map(({ event }) => event)).toEqual(["job.output", "job.ended"]);
  });

  it("end their streams when the service stops", async () => {
    await start({ command: "sleep 1000", id: "a" });
    const following = await get("/a/output?stream=true");
    const closing = service.listener.close(1000);
    const events = await readEvents(following);
    expect(events.at(-1)).toMatchObject({ event: "error" });
    await closing;
  });

  it("belong to admin keys of their tenant", async () => {
    await start({ command: "cat", id: "a" });
    for (const path of ["", "/a", "/a/output"]) {
      expect((await service.fetch(`${jobs}${path}`, { key: CLIENT_KEY })).status).toBe(403);
      const foreign = await service.fetch(`${jobs}${path}`, { key: OTHER_ADMIN_KEY });
      expect([foreign.status, await codeOf(foreign)]).toEqual([404, "session.not_found"]);
    }
    const foreign = await service.fetch(jobs, { ...json({ command: "cat" }), key: OTHER_ADMIN_KEY });
    expect(foreign.status).toBe(404);
  });

  it.each([
    [{ command: "" }, 400],
    [{ command: "cat", id: "../x" }, 400],
    [{ command: "cat", workdir: "/etc" }, 400],
    [{ command: "cat", stream: true }, 400],
    [{ command: "cat", env: { "A B": "1" } }, 400],
  ])("refuse %o", async (body, status) => {
    expect((await service.fetch(jobs, { ...json(body), ...KEY })).status).toBe(status);
    expect(jobListSchema.parse(await (await get("")).json()).data).toEqual([]);
  });

  it("are not found when nobody started them, and are limited in number", async () => {
    for (const path of ["/none", "/none/output"])
      expect(await codeOf(await get(path))).toBe("box.process_not_found");
    expect(await codeOf(await service.fetch(`${jobs}/none`, { method: "DELETE", ...KEY }))).toBe(
      "box.process_not_found",
    );
    for (const name of ["a", "b", "c", "d"]) await start({ command: "cat", id: name });
    const refused = await service.fetch(jobs, { ...json({ command: "cat", id: "e" }), ...KEY });
    expect([refused.status, await codeOf(refused)]).toEqual([429, "box.capacity"]);
  });
});
