/** The routes of sessions on a real engine: files and commands beside the runs of a chat, and the end of a box (api §4). */
import { createHash, randomBytes } from "node:crypto";
import { describe, expect, inject, it } from "vitest";
import type { SessionId } from "../../src/domain/ids.js";
import {
  boxStatusSchema,
  execResultSchema,
  sessionFilesSchema,
  sessionSchema,
} from "../../src/http/schemas/session-bodies.js";
import { text } from "../fakes/scripted-model.js";
import { runs, saysStdout } from "../support/agent-script.js";
import { readEvents } from "../support/read-answer.js";
import { ownedVolumes } from "../support/service-boxes.js";
import { chatMessage, serviceForAll } from "../support/shared-service.js";

const MIB = 1024 * 1024;

const content = (id: string, path: string) =>
  `/v1/sessions/${id}/files/content?path=${encodeURIComponent(path)}`;

describe.skipIf(!inject("dockerAvailable"))("sessions over HTTP", () => {
  const service = serviceForAll();

  /** The session of a chat that has spoken once. */
  const begin = async (chat: string): Promise<SessionId> => {
    using _model = service().script(text("Hello"));
    const run = await service().send(chatMessage(chat, "Hello"));
    if (run.session === null) throw new Error("The run has no session.");
    return run.session.id;
  };
  const exec = async (id: string, body: Readonly<Record<string, unknown>>, init: RequestInit = {}) =>
    service().fetch(`/v1/sessions/${id}/exec`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      ...init,
    });
  const result = async (id: string, command: string) =>
    execResultSchema.parse(await (await exec(id, { command })).json());
  const look = async (id: string) =>
    sessionSchema.parse(await (await service().fetch(`/v1/sessions/${id}`)).json());

  it("carry exact bytes into the box and out of it, in whole and in part", async () => {
    const id = await begin("bytes");
    const bytes = randomBytes(5 * MIB);
    const path = "/workspace/deep/报告 1.bin";
    expect((await service().fetch(content(id, path), { method: "PUT", body: bytes })).status).toBe(200);
    const { stdout } = await result(id, `sha256sum "${path}"`);
    expect(stdout.split(" ")[0]).toBe(createHash("sha256").update(bytes).digest("hex"));
    const whole = await service().fetch(content(id, path));
    expect(bytes.equals(Buffer.from(await whole.arrayBuffer()))).toBe(true);
    const part = await service().fetch(content(id, path), { headers: { range: "bytes=1000000-1000999" } });
    expect(part.status).toBe(206);
    expect(bytes.subarray(1_000_000, 1_001_000).equals(Buffer.from(await part.arrayBuffer()))).toBe(true);
    expect((await service().fetch(content(id, path), { method: "DELETE" })).status).toBe(200);
    expect((await result(id, "ls -A /workspace/deep")).stdout).toBe("");
  });

  it("follow no link of the box", async () => {
    const id = await begin("links");
    await result(id, "ln -s / out; ln -s /etc/passwd passwd; mkfifo pipe; mkdir d; echo 1 > d/a");
    const list = await service().fetch(`/v1/sessions/${id}/files?depth=3`);
    const { data } = sessionFilesSchema.parse(await list.json());
    const kinds = new Map(data.map(({ path, kind }) => [path, kind]));
    expect(kinds.get("/workspace/out")).toBe("link");
    expect(kinds.get("/workspace/pipe")).toBe("other");
    expect(kinds.get("/workspace/d/a")).toBe("file");
    expect(data.some(({ path }) => path.startsWith("/workspace/out/"))).toBe(false);
    for (const path of ["out/etc/passwd", "passwd", "pipe", "d", "/etc/passwd", "../etc/passwd"]) {
      const response = await service().fetch(content(id, path));
      expect([path, response.status]).toEqual([path, 400]);
    }
    expect((await service().fetch(content(id, "none"))).status).toBe(404);
    const through = await service().fetch(content(id, "out/tmp/x"), { method: "PUT", body: "x" });
    expect(through.status).toBe(400);
    expect((await service().fetch(content(id, "out"), { method: "DELETE" })).status).toBe(200);
    expect((await result(id, "ls -d /etc")).stdout).toBe("/etc\n");
  });

  it("run a command and stream its output", async () => {
    const id = await begin("exec");
    const failed = await result(id, "echo out; echo err >&2; exit 7");
    expect(failed).toMatchObject({ status: "completed", exit_code: 7, stdout: "out\n", stderr: "err\n" });
    const events = await readEvents(await exec(id, { command: "echo 1; sleep 0.3; echo 2", stream: true }));
    expect(events.map(({ event }) => event)).toEqual(["tool.output", "tool.output", "tool.call.completed"]);
    const timedOut = await exec(id, { command: "sleep 60", timeout_sec: 1 });
    expect(execResultSchema.parse(await timedOut.json())).toMatchObject({ status: "timed_out", ok: false });
  });

  it("stop a command with all it started when its client leaves", async () => {
    const id = await begin("leaving");
    const leaving = new AbortController();
    const command = "touch begun; setsid sleep 987654 & sleep 987654";
    const sent = exec(id, { command, stream: true }, { signal: leaving.signal });
    sent.catch(() => {});
    await expect
      .poll(async () => (await service().fetch(content(id, "begun"))).status, { timeout: 20_000 })
      .toBe(200);
    // The brackets keep the search from finding itself.
    const left = async () =>
      (await result(id, "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -c '98765[4]'")).stdout;
    expect(await left()).not.toBe("0\n");
    leaving.abort();
    await expect.poll(async () => (await look(id)).box.activity.leases, { timeout: 20_000 }).toBe(0);
    expect(await left()).toBe("0\n");
  });

  it("rest a box and wake it with its files, and tell the chat's next run what is gone", async () => {
    const id = await begin("rest");
    await result(id, "echo kept > a.txt; echo gone > /tmp/b.txt");
    const stopped = await service().fetch(`/v1/sessions/${id}/stop`, { method: "POST" });
    expect(sessionSchema.parse(await stopped.json()).box.state).toBe("stopped");
    expect(await (await service().fetch(content(id, "a.txt"))).text()).toBe("kept\n");
    expect((await look(id)).box.state).toBe("ready");
    using model = service().script(runs("cat a.txt; cat /tmp/b.txt"), saysStdout());
    const run = await service().send(chatMessage("rest", "What is there?"));
    expect(run.message?.content).toBe("kept\n");
    expect(JSON.stringify(model.request(0).messages)).toContain("The box was rested since the last run");
  });

  it("show what is really in force, and delete a session with all it has", async () => {
    const id = await begin("end");
    const status = boxStatusSchema.parse(await (await service().fetch("/v1/boxes/status")).json());
    expect(status).toMatchObject({
      enabled: true,
      available: true,
      engines: [{ images: ["berth-box:slim"] }],
    });
    expect(status.engines[0]?.version).toMatch(/^\d+\./);
    expect(status.isolation.length).toBeGreaterThan(0);
    expect(status.boxes?.find(({ session_id }) => session_id === id)).toMatchObject({
      key: "person_end",
      state: "ready",
      network: "none",
      limits: { memory_mb: 512 },
    });
    const before = (await ownedVolumes(service().engine, service().id)).length;
    const used = (await service().containers()).length;
    expect((await service().fetch(`/v1/sessions/${id}`, { method: "DELETE" })).status).toBe(200);
    expect((await service().containers()).length).toBe(used - 1);
    expect((await ownedVolumes(service().engine, service().id)).length).toBe(before - 1);
    expect((await service().fetch(`/v1/sessions/${id}`)).status).toBe(404);
  });
});
