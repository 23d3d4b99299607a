/** Jobs and terminals in boxes of a real engine: they outlive runs, keep their box awake, and end with all they started. */
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { WebSocket } from "ws";
import type { SessionId } from "../../src/domain/ids.js";
import { jobOutputSchema, jobSchema } from "../../src/http/schemas/job-bodies.js";
import { execResultSchema, sessionSchema } from "../../src/http/schemas/session-bodies.js";
import { text } from "../fakes/scripted-model.js";
import { proves } from "../support/proves.js";
import { chatMessage, serviceForAll } from "../support/shared-service.js";

describe.skipIf(!inject("dockerAvailable"))("jobs in a real box", () => {
  const service = serviceForAll({ boxes: { idle_ttl_sec: 1 } });
  let id: SessionId;

  beforeAll(async () => {
    using _model = service().script(text("Hello"));
    const run = await service().send(chatMessage("jobs", "Hello"));
    if (run.session === null) throw new Error("The run has no session.");
    id = run.session.id;
  });

  const call = async (method: string, path: string, body?: Readonly<Record<string, unknown>>) =>
    service().fetch(`/v1/sessions/${id}${path}`, {
      method,
      headers: { "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const start = async (command: string, job: string) =>
    jobSchema.parse(await (await call("POST", "/jobs", { id: job, command })).json());
  const info = async (job: string) => jobSchema.parse(await (await call("GET", `/jobs/${job}`)).json());
  const sh = async (command: string) =>
    execResultSchema.parse(await (await call("POST", "/exec", { command })).json()).stdout;
  const count = async () => sh("cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -c '98765[2]'");
  const look = async () => sessionSchema.parse(await (await call("GET", "")).json()).box;

  it("run, say so, and are noticed with their code when they end by themselves", async () => {
    proves("JOB-01");
    expect(await start("echo begun; read x; echo $x >&2; exit 7", "ends")).toMatchObject({
      status: "running",
    });
    const output = await call("GET", "/jobs/ends/output?wait_sec=10");
    expect(jobOutputSchema.parse(await output.json()).output).toEqual([
      { stream: "stdout", text: "begun\n" },
    ]);
    expect(await info("ends")).toMatchObject({ status: "running", exit_code: null });
    await call("POST", "/jobs/ends/stdin", { data: "hello\n" });
    await expect.poll(async () => (await info("ends")).status, { timeout: 10_000 }).toBe("exited");
    expect(await info("ends")).toMatchObject({ exit_code: 7, stderr_preview: "hello\n" });
  });

  it("are not found when nobody started them", async () => {
    proves("JOB-02");
    const response = await call("DELETE", "/jobs/none");
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: "box.process_not_found" } });
  });

  it("keep their box from being rested however long they run, and let it rest afterwards", async () => {
    proves("BOX-05");
    await start("sleep 987651", "awake");
    const before = await look();
    // The idle limit is 1 s, and the reaper looks every second.
    for (let waitedMs = 0; waitedMs < 4000; waitedMs += 500) {
      await new Promise((resolve) => {
        setTimeout(resolve, 500);
      });
      expect(await look()).toMatchObject({ state: "ready", jobs: 1 });
    }
    expect(before).toMatchObject({ state: "ready", jobs: 1, activity: { idle_sec: null } });
    expect((await call("DELETE", "/jobs/awake")).status).toBe(200);
    await expect.poll(async () => (await look()).state, { timeout: 15_000 }).not.toBe("ready");
  });

  it("end with all they started, also what ignores TERM", async () => {
    await start(
      "trap '' TERM; setsid sleep 987652 & sleep 987652 & (trap '' TERM; sleep 987652) & wait; sleep 987652",
      "deaf",
    );
    await expect.poll(count, { timeout: 10_000 }).not.toBe("0\n");
    const stopped = jobSchema.parse(await (await call("DELETE", "/jobs/deaf")).json());
    expect(stopped).toMatchObject({ status: "exited", exit_code: null });
    expect(await count()).toBe("0\n");
  });

  it("say that their box was stopped, and leave nothing of a start that meets the end of its session", async () => {
    await start("sleep 987653", "victim");
    const starting = call("POST", "/jobs", { id: "late", command: "sleep 987653" });
    expect((await call("POST", "/stop")).status).toBe(200);
    await starting;
    const jobs: unknown = await (await call("GET", "/jobs")).json();
    expect(JSON.stringify(jobs)).not.toContain('"status":"running"');
    expect(await info("victim")).toMatchObject({ status: "exited", exit_code: null });
  });

  it("are kept bounded when they flood, and their box goes on", async () => {
    await start("yes", "flood");
    await expect
      .poll(async () => (await info("flood")).output_bytes, { timeout: 20_000 })
      .toBeGreaterThan(1e6);
    expect(await sh("echo well")).toBe("well\n");
    const { dropped_bytes: dropped, output } = jobOutputSchema.parse(
      await (await call("GET", "/jobs/flood/output")).json(),
    );
    expect(dropped).toBeGreaterThan(0);
    expect(JSON.stringify(output).length).toBeLessThan(600_000);
    await call("DELETE", "/jobs/flood");
  });

  it("have a terminal beside them, with a shell of the box", async () => {
    const socket = new WebSocket(
      `${service().url.replace("http", "ws")}/v1/sessions/${id}/terminal?rows=40&columns=90`,
    );
    let heard = "";
    socket.on("message", (data) => {
      heard += Buffer.isBuffer(data) ? data.toString() : "";
    });
    const closed = new Promise<number>((resolve) => {
      socket.on("close", resolve);
    });
    await expect.poll(() => heard, { timeout: 20_000 }).toContain('"type":"terminal"');
    socket.send(Buffer.from("stty size; id -u; exit 5\r"));
    await expect.poll(() => heard, { timeout: 20_000 }).toContain('"exit_code":5');
    expect(heard).toContain("40 90");
    expect(heard).toMatch(/\b3\d{4}\b/);
    expect(await closed).toBe(1000);
  });

  afterAll(async () => {
    await call("DELETE", "?force=true");
  });
});
