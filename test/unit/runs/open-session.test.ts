import { describe, expect, it } from "vitest";
import type { ToolEvent } from "../../../src/ports/tool.js";
import { OpenSession } from "../../../src/runs/open-session.js";
import { StagedFile } from "../../../src/runs/staged-file.js";
import { createExecTool } from "../../../src/tools/native/exec.js";
import { CountingIds } from "../../fakes/counting-ids.js";
import { aRunWorld, NEVER, type RunWorld, type WorldOptions } from "../../support/run-world.js";
import { textLike } from "../../support/text-like.js";

const CALL = { signal: NEVER };

async function open(options: WorldOptions = {}): Promise<{ world: RunWorld; box: OpenSession }> {
  const world = aRunWorld(options);
  const session = await world.boxes.findOrCreateSession("main", { key: "1", identity: "1" }, CALL);
  const lease = await world.boxes.lease(session, CALL);
  return {
    world,
    box: new OpenSession({
      lease,
      jobs: world.jobs,
      ids: new CountingIds(),
      exec: createExecTool({ outputChars: 40 }),
    }),
  };
}

async function staged(world: RunWorld, text: string): Promise<StagedFile> {
  const file = new StagedFile(await world.stores.blobs.stage());
  await file.write(Buffer.from(text));
  return file;
}

async function allOf(events: AsyncIterable<ToolEvent>): Promise<readonly ToolEvent[]> {
  const all: ToolEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

describe("OpenSession", () => {
  it("writes, lists, reads and removes files", async () => {
    const { world, box } = await open();
    await using _open = box;
    await using file = await staged(world, "a\0b");
    expect(await box.writeFile("/workspace/d/a", file, CALL)).toMatchObject({ bytes: 3, kind: "file" });
    const listed = await box.list("/workspace/d", 1, CALL);
    expect(listed.entries).toMatchObject([{ path: "/workspace/d/a", bytes: 3 }]);
    expect((await box.openFile("/workspace/d/a", CALL)).sizeBytes).toBe(3);
    await box.removeFile("/workspace/d", true, CALL);
    expect((await box.list("/workspace", 2, CALL)).entries.map(({ path }) => path)).not.toContain(
      "/workspace/d",
    );
    expect(box.notes).toEqual([]);
  });

  it("changes nothing in a workspace that is read-only, and says why", async () => {
    const { world, box } = await open({ workspaceMode: "ro" });
    await using _open = box;
    await using file = await staged(world, "x");
    const refused = { code: "box.forbidden" };
    await expect(box.writeFile("/workspace/a", file, CALL)).rejects.toMatchObject(refused);
    await expect(box.removeFile("/workspace/a", false, CALL)).rejects.toMatchObject(refused);
  });

  it("runs commands with the tool that runs use, output first, the outcome last", async () => {
    const { box } = await open();
    await using _open = box;
    expect(await allOf(box.run({ command: "echo hi; echo no >&2; exit 3" }, CALL))).toMatchObject([
      { type: "output", stream: "stdout", text: "hi\n" },
      { type: "output", stream: "stderr", text: "no\n" },
      { type: "outcome", outcome: { ok: true, result: { exit_code: 3, ok: false, stdout: "hi\n" } } },
    ]);
    const [refused] = await allOf(box.run({ command: " " }, CALL));
    expect(refused).toMatchObject({ outcome: { ok: false, error: textLike(/empty/) } });
  });

  it("keeps the whole output of every command under a name of its own", async () => {
    const { box } = await open();
    await using _open = box;
    for (let i = 0; i < 2; i += 1) await allOf(box.run({ command: `echo ${"x".repeat(100)}` }, CALL));
    const { entries } = await box.list("/workspace/.tool-results", 1, CALL);
    expect(entries.map(({ bytes }) => bytes)).toEqual([101, 101]);
  });

  it("exports nothing: only a run can", async () => {
    const { world } = await open();
    const session = await world.boxes.findOrCreateSession("main", { key: "1", identity: "1" }, CALL);
    const answers: unknown[] = [];
    const exec = createExecTool({ outputChars: 40 });
    const spying = {
      ...exec,
      async *run(...[_call, box, options]: Parameters<typeof exec.run>): AsyncGenerator<ToolEvent> {
        answers.push(box.runId, await box.exportFiles(["/workspace/a"], options));
        yield { type: "outcome", outcome: { ok: true, result: {} } };
      },
    };
    const lease = await world.boxes.lease(session, CALL);
    await using box = new OpenSession({ lease, jobs: world.jobs, ids: new CountingIds(), exec: spying });
    await allOf(box.run({ command: "x" }, CALL));
    expect(answers).toEqual([null, { ok: false, error: "Only a run can export files." }]);
  });
});
