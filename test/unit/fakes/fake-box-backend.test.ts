import { describe, expect, it } from "vitest";
import { resolveBoxSettings } from "../../../src/box/box-policy.js";
import { describeBoxBackend, run } from "../../contracts/box-backend.js";
import { FakeBoxBackend } from "../../fakes/fake-box-backend.js";
import { exited, printed } from "../../fakes/fake-box-commands.js";

const SETTINGS = resolveBoxSettings("default", { image: "berth-box:slim" });
const FOREVER = { signal: new AbortController().signal };

describeBoxBackend("fake", () => {
  let count = 0;
  return {
    backend: new FakeBoxBackend(),
    settings: SETTINGS,
    floodBytes: 1024 * 1024,
    hasDirectoryModes: false,
    hasProcesses: true,
    newPlace: () => {
      count += 1;
      return {
        sessionId: `ses_${count}`,
        tenant: "main",
        uid: 30_000 + count,
        volume: `volume-${count}`,
        container: `box-${count}`,
      };
    },
    [Symbol.asyncDispose]: async () => Promise.resolve(),
  };
});

describe("FakeBoxBackend", () => {
  const place = { sessionId: "ses_1", tenant: "main", uid: 30_001, volume: "v", container: "c" } as const;

  it("counts what was made and plays an engine that does not answer", async () => {
    const backend = new FakeBoxBackend();
    await backend.prepareWorkspace(place, SETTINGS, FOREVER);
    await backend.start(place, SETTINGS, FOREVER);
    await backend.start(place, SETTINGS, FOREVER);
    expect(backend.counts).toMatchObject({ volumesCreated: 1, containersCreated: 1, starts: 1 });
    backend.isAvailable = false;
    await expect(backend.inspect("c", FOREVER)).rejects.toMatchObject({ code: "box.engine_unavailable" });
  });

  it("asks the test's commands first", async () => {
    const backend = new FakeBoxBackend({
      commands: ({ argv, tree }) => (argv[0] === "plot" ? plot(tree.put.bind(tree)) : null),
    });
    await backend.prepareWorkspace(place, SETTINGS, FOREVER);
    await backend.start(place, SETTINGS, FOREVER);
    await using box = await backend.open(place, FOREVER);
    expect(await run(box, ["plot"])).toMatchObject({ stdout: "drawn", exit: { exitCode: 0 } });
    expect(await run(box, ["echo", "x"])).toMatchObject({ stdout: "x\n" });
    expect(backend.tree("v").text("/workspace/outbox/run_1/a.png")).toBe("png");
  });

  it("ends the commands of a container that somebody removes", async () => {
    const backend = new FakeBoxBackend();
    await backend.prepareWorkspace(place, SETTINGS, FOREVER);
    await backend.start(place, SETTINGS, FOREVER);
    await using box = await backend.open(place, FOREVER);
    const running = run(box, ["sleep", "1000"]);
    await Promise.resolve();
    backend.killContainer("c");
    expect((await running).exit.status).toBe("killed");
  });

  it("says that the workspace is full", async () => {
    const backend = new FakeBoxBackend({ spaceBytes: 4 });
    await backend.prepareWorkspace(place, SETTINGS, FOREVER);
    await backend.start(place, SETTINGS, FOREVER);
    await using box = await backend.open(place, FOREVER);
    const request = { path: "/workspace/x", mode: "create", sizeBytes: 5, content: five() } as const;
    expect(await box.files.write([request], FOREVER)).toEqual([{ ok: false, fault: "no_space" }]);
  });
});

async function* plot(put: (path: string, content: string) => void) {
  put("/workspace/outbox/run_1/a.png", "png");
  yield printed("drawn");
  yield exited(0);
}

async function* five() {
  yield Buffer.from("12345");
}
