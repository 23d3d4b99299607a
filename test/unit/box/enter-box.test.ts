import { beforeEach, describe, expect, it } from "vitest";
import { FULL_NOTE } from "../../../src/box/box-notes.js";
import { BoxOpener } from "../../../src/box/box-opener.js";
import { type EnterRequest, enterBox } from "../../../src/box/enter-box.js";
import { ServiceError } from "../../../src/domain/errors.js";
import type { BoxHandle } from "../../../src/ports/box-handle.js";
import { aSession, aWorld, ENDLESS, SETTINGS } from "./box-world.js";

let world: ReturnType<typeof aWorld>;
let opener: BoxOpener;

beforeEach(() => {
  world = aWorld();
  opener = new BoxOpener(world);
});

/** As the pool leaves a box. @returns the name of its container */
async function makeReady(settings = SETTINGS): Promise<string> {
  const session = await world.sessions.findOrCreate(aSession({ untold: null }));
  const { place } = await opener.open(session, settings, ENDLESS);
  await (await world.backend.open(place, ENDLESS))[Symbol.asyncDispose]();
  return place.container;
}

const DIRECTORIES = ["/workspace/inbox/run_1", "/workspace/outbox/run_1"];

const enter = (change: Partial<EnterRequest> = {}, options = ENDLESS) =>
  enterBox(
    { ...world, opener },
    { id: "ses_a", tenant: "main", settings: SETTINGS, directories: DIRECTORIES, isRun: true, ...change },
    options,
  );

/** Looks at boxes that the engine is asked for from now on. */
function watchEngine(): string[] {
  const asked: string[] = [];
  const inspect = world.backend.inspect.bind(world.backend);
  const open = world.backend.open.bind(world.backend);
  world.backend.inspect = async (...args) => {
    asked.push("inspect");
    return inspect(...args);
  };
  world.backend.open = async (...args) => {
    asked.push("open");
    return open(...args);
  };
  return asked;
}

/** What the helper of a box does from now on, until the box is opened anew. */
function changeServed(change: (handle: BoxHandle) => void): void {
  const openServed = world.backend.openServed.bind(world.backend);
  world.backend.openServed = (...args) => {
    const handle = openServed(...args);
    if (handle !== null) change(handle);
    return handle;
  };
}

describe("enterBox", () => {
  it("asks the engine nothing at the first use of a ready box, and looks at it at the next", async () => {
    await makeReady();
    const asked = watchEngine();
    const entered = await enter();
    expect([asked, entered?.notes]).toEqual([[], []]);
    const files = await entered?.handle.files.stat(DIRECTORIES, ENDLESS);
    expect(files).toMatchObject([{ entry: { kind: "directory" } }, { entry: { kind: "directory" } }]);
    await enter();
    expect(asked).toEqual(["inspect", "open"]);
  });

  it.each<readonly [string, Partial<EnterRequest>]>([
    ["a person", { directories: [], isRun: false }],
    ["a run that makes no directories", { settings: { ...SETTINGS, workspaceMode: "ro" } }],
  ])("lets %s in only after the box has answered", async (_name, change) => {
    const container = await makeReady(change.settings);
    const asked = watchEngine();
    expect((await enter(change))?.place.container).toBe(container);
    expect(asked).toEqual([]);
    await world.sessions.update("ses_a", { untold: null });
    changeServed(() => world.backend.killContainer(container));
    const entered = await enter(change);
    expect(entered?.place.container).not.toBe(container);
    expect(entered?.notes).toEqual([]);
  });

  it("looks at a ready box that does not answer over its helper, and gives that handle back", async () => {
    await makeReady();
    let disposed = 0;
    changeServed((handle) => {
      handle.files.resetDirectories = async () => {
        throw new ServiceError("box.engine_unavailable", "The helper was lost.");
      };
      const dispose = handle[Symbol.asyncDispose].bind(handle);
      handle[Symbol.asyncDispose] = async () => {
        disposed += 1;
        await dispose();
      };
    });
    const asked = watchEngine();
    const entered = await enter();
    expect([asked, disposed, entered?.notes]).toEqual([["inspect", "open"], 1, []]);
    expect(world.logger.lines).toContainEqual(
      expect.objectContaining({ fields: { sessionId: "ses_a", reason: "box.engine_unavailable" } }),
    );
  });

  it("goes on in a full workspace, and says that the directories are missing", async () => {
    await makeReady();
    changeServed((handle) => {
      handle.files.resetDirectories = async () => {
        throw new ServiceError("box.quota", "No space is left.");
      };
    });
    const asked = watchEngine();
    expect((await enter())?.notes).toEqual([FULL_NOTE]);
    expect(asked).toEqual([]);
  });

  it("does nothing more for a caller that gave up while the box was asked", async () => {
    await makeReady();
    const life = new AbortController();
    const reason = new Error("given up");
    changeServed((handle) => {
      handle.files.resetDirectories = async () => {
        life.abort(reason);
        throw reason;
      };
    });
    const asked = watchEngine();
    await expect(enter({}, { signal: life.signal })).rejects.toBe(reason);
    expect(asked).toEqual([]);
  });

  it("tells a run what its session lost, and keeps it for the next run where a person comes first", async () => {
    await world.sessions.findOrCreate(aSession({ untold: ["Files are gone."] }));
    expect((await enter({ isRun: false }))?.notes).toEqual([]);
    expect((await enter())?.notes).toEqual(["Files are gone."]);
    expect((await enter())?.notes).toEqual([]);
  });

  it("finds no session that is gone", async () => {
    expect(await enter()).toBeNull();
  });
});
