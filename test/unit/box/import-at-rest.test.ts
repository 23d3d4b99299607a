import { describe, expect, it } from "vitest";
import { BOX_NOTES } from "../../../src/box/box-notes.js";
import { importer } from "../../../src/box/import-at-rest.js";
import { RevivingHandle } from "../../../src/box/reviving-handle.js";
import type { WriteRequest } from "../../../src/ports/box-handle.js";
import { aSession, aWorld, ENDLESS, SETTINGS } from "./box-world.js";

const PATH = "/workspace/inbox/run_1/0/a.txt";
const READ_ONLY = { ...SETTINGS, workspaceMode: "ro" } as const;

function aFile(text: string): WriteRequest {
  const content = async function* () {
    yield Buffer.from(text);
  };
  return { path: PATH, mode: "create", sizeBytes: text.length, content: content() };
}

/** A box that runs, held once. */
async function aBox({
  settings = READ_ONLY,
  wasRunning = false,
}: Partial<{ settings: typeof SETTINGS; wasRunning: boolean }> = {}) {
  const world = aWorld();
  const session = aSession({ container: "c" });
  const place = { ...session, sessionId: session.id, container: "c" };
  await world.backend.prepareWorkspace(place, settings, ENDLESS);
  await world.backend.start(place, settings, ENDLESS);
  world.boxes.set(session.id, {
    tenant: "main",
    container: "c",
    uid: session.uid,
    settings,
    startedAt: "before",
  });
  let opened = 0;
  const open = async () => {
    opened += 1;
    return world.backend.open(place, ENDLESS);
  };
  const handle = new RevivingHandle(await open(), {
    reopen: async () => ({ handle: await open(), notes: ["not told"] }),
    askDeleted: async () => false,
    env: {},
  });
  const write = importer(world, { session, place, notes: [], handle, settings, wasRunning });
  return { ...world, session, handle, write, held: world.boxes.hold(session.id), opened: () => opened };
}

const notesOf = async (handle: RevivingHandle): Promise<readonly string[]> => {
  const request = { argv: ["true"], workdir: "/workspace", env: {}, timeoutMs: 1000 };
  for await (const event of handle.exec(request, ENDLESS)) if (event.type === "exit") return event.exit.notes;
  return ["no exit"];
};

describe("importer", () => {
  it("lets a box that may write do so itself", async () => {
    const box = await aBox({ settings: SETTINGS });
    expect(await box.write([aFile("one")], ENDLESS)).toMatchObject([{ ok: true }]);
    expect([box.backend.counts.starts, box.opened()]).toEqual([1, 1]);
  });

  it("puts files into a read-only workspace while its box stands still, and tells nothing where nothing was lost", async () => {
    const box = await aBox();
    expect(await box.write([aFile("one")], ENDLESS)).toMatchObject([{ ok: true, entry: { path: PATH } }]);
    const [stat] = await box.handle.files.stat([PATH], ENDLESS);
    expect(stat).toMatchObject({ entry: { kind: "file" } });
    expect([box.backend.counts.starts, box.opened()]).toEqual([2, 2]);
    const found = await box.backend.inspect("c", ENDLESS);
    expect(box.boxes.get(box.session.id)?.startedAt).toBe(found?.startedAt);
    expect(await notesOf(box.handle)).toEqual([]);
  });

  it("tells what is gone of a box that ran before", async () => {
    const box = await aBox({ wasRunning: true });
    await box.write([aFile("one")], ENDLESS);
    expect(await notesOf(box.handle)).toEqual([BOX_NOTES.restarted]);
    expect(await notesOf(box.handle)).toEqual([]);
  });

  it("stops no box that others use", async () => {
    const box = await aBox();
    using _other = box.boxes.hold(box.session.id);
    await expect(box.write([aFile("one")], ENDLESS)).rejects.toMatchObject({ code: "box.conflict" });
    expect(box.backend.counts.starts).toBe(1);
  });

  it("has the box run again when the files were not taken, and corrects no record of one that is gone", async () => {
    const box = await aBox();
    box.boxes.forget(box.session.id);
    const broken = { ...aFile("one"), sizeBytes: 9 };
    await expect(box.write([broken], ENDLESS)).rejects.toMatchObject({ code: "box.validation" });
    expect((await box.backend.inspect("c", ENDLESS))?.state).toBe("running");
    expect(box.boxes.get(box.session.id)).toBeNull();
  });
});
