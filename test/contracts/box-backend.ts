/** What every engine of boxes does, whatever carries it (ports/box-backend.ts, ports/box-handle.ts). */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { BoxSettings, ExecExit, FileEntry } from "../../src/domain/box.js";
import { POOL_TENANT } from "../../src/domain/session.js";
import type { BoxBackend, BoxPlace } from "../../src/ports/box-backend.js";
import type { BoxHandle, ExecRequest, FileStreamEvent, WriteRequest } from "../../src/ports/box-handle.js";
import type { CallOptions } from "../../src/ports/options.js";
import { describeProcesses } from "./box-processes.js";

/** A backend for one suite, and the way to leave nothing behind. */
export interface BoxesUnderTest extends AsyncDisposable {
  readonly backend: BoxBackend;
  readonly settings: BoxSettings;
  /** A place that nothing else uses. */
  newPlace(): BoxPlace;
  /** Bytes that a command prints in the back-pressure rule. */
  readonly floodBytes: number;
  /** Whether boxes have processes that are streamed in both directions. */
  readonly hasProcesses: boolean;
  /** Whether the mode of a directory says who may use it. */
  readonly hasDirectoryModes: boolean;
}

const NOTHING = { containers: [], volumes: [] };
const FOREVER: CallOptions = { signal: new AbortController().signal };

export function describeBoxBackend(name: string, make: () => BoxesUnderTest): void {
  describe(`BoxBackend: ${name}`, () => {
    describeLife(make);
    describeFiles(make);
    describeLockedOut(make);
    describeCommands(make);
    describeProcesses(make);
  });
}

/** One running box for a group of rules; each rule works in a directory of its own. */
function useBox(
  make: () => BoxesUnderTest,
): () => { readonly box: BoxHandle; readonly boxes: BoxesUnderTest; readonly place: BoxPlace } {
  let boxes: BoxesUnderTest | null = null;
  let box: BoxHandle | null = null;
  let place: BoxPlace | null = null;
  beforeAll(async () => {
    boxes = make();
    place = boxes.newPlace();
    await boxes.backend.prepareWorkspace(place, boxes.settings, FOREVER);
    await boxes.backend.start(place, boxes.settings, FOREVER);
    box = await boxes.backend.open(place, FOREVER);
  });
  afterAll(async () => {
    await box?.[Symbol.asyncDispose]();
    await boxes?.[Symbol.asyncDispose]();
  });
  return () => {
    if (box === null || boxes === null || place === null)
      throw new Error("The box of this suite is not there.");
    return { box, boxes, place };
  };
}

function describeLife(make: () => BoxesUnderTest): void {
  it("says what the engine is and what it holds", async () => {
    await using boxes = make();
    const facts = await boxes.backend.probe(FOREVER);
    expect(facts.name).toBe(boxes.backend.engine);
    expect(facts.version).not.toBe("");
    expect(facts.isolation).toContain("network-none");
    expect(await boxes.backend.hasImage(boxes.settings.image, FOREVER)).toBe(true);
    expect(await boxes.backend.hasImage("no-such-image:none", FOREVER)).toBe(false);
  });

  it("proves its controls in a box of their own, and leaves nothing of that behind", async () => {
    await using boxes = make();
    const { backend, settings } = boxes;
    const checking = backend.selfCheck(settings, FOREVER);
    const during = await backend.listOwned(FOREVER);
    const controls = await checking;
    expect(controls.find(({ name }) => name === "network-none")?.state).not.toBe("ignored");
    expect(new Set(controls.map(({ name }) => name)).size).toBe(controls.length);
    expect([during, await backend.listOwned(FOREVER)]).toEqual([NOTHING, NOTHING]);
  });

  it("makes one running container of two starts at once, and keeps it when started again", async () => {
    await using boxes = make();
    const { backend, settings } = boxes;
    const place = boxes.newPlace();
    await backend.prepareWorkspace(place, settings, FOREVER);
    const started = await Promise.all([1, 2].map(async () => backend.start(place, settings, FOREVER)));
    expect(started.filter(Boolean)).toEqual([true]);
    expect(await backend.start(place, settings, FOREVER)).toBe(false);
    expect(await backend.listOwned(FOREVER)).toEqual({
      containers: [{ name: place.container, sessionId: place.sessionId, uid: place.uid, state: "running" }],
      volumes: [place.volume],
    });
    expect(await backend.listUids(FOREVER)).toContain(place.uid);
  });

  it("keeps the files over a stop, a removed container and a repeated preparation", async () => {
    await using boxes = make();
    const { backend, settings } = boxes;
    const place = boxes.newPlace();
    expect(await backend.inspect(place.container, FOREVER)).toBeNull();
    await backend.prepareWorkspace(place, settings, FOREVER);
    await backend.prepareWorkspace(place, settings, FOREVER);
    await backend.start(place, settings, FOREVER);
    {
      await using box = await backend.open(place, FOREVER);
      await write(box, "/workspace/kept.txt", "kept");
    }
    await backend.stop(place.container, FOREVER);
    await backend.stop(place.container, FOREVER);
    expect((await backend.inspect(place.container, FOREVER))?.state).toBe("stopped");
    await expect(backend.open(place, FOREVER)).rejects.toMatchObject({ code: "box.readiness" });
    expect(await backend.start(place, settings, FOREVER)).toBe(true);
    await backend.removeContainer(place.container, FOREVER);
    await backend.removeContainer(place.container, FOREVER);
    await backend.prepareWorkspace(place, settings, FOREVER);
    await backend.start(place, settings, FOREVER);
    await using box = await backend.open(place, FOREVER);
    expect(await read(box, "/workspace/kept.txt")).toBe("kept");
  });

  it("takes files into a workspace that its box can only read, while the box stands still and not before", async () => {
    await using boxes = make();
    const { backend } = boxes;
    const settings: BoxSettings = { ...boxes.settings, workspaceMode: "ro" };
    const place = boxes.newPlace();
    const path = "/workspace/inbox/run_1/0/a b.txt";
    await backend.prepareWorkspace(place, settings, FOREVER);
    const files = (): readonly WriteRequest[] => [aWrite(path, "from outside"), aWrite("/etc/x", "no")];
    const answers = await backend.importFiles(place, { settings, files: files() }, FOREVER);
    expect(answers).toMatchObject([
      { ok: true, entry: { path, sizeBytes: 12 } },
      { ok: false, fault: "escapes" },
    ]);
    await backend.start(place, settings, FOREVER);
    await expect(backend.importFiles(place, { settings, files: files() }, FOREVER)).rejects.toMatchObject({
      code: "box.conflict",
    });
    {
      await using box = await backend.open(place, FOREVER);
      expect(await read(box, path)).toBe("from outside");
    }
    await backend.stop(place.container, FOREVER);
    const again = await backend.importFiles(place, { settings, files: [aWrite(path, "other")] }, FOREVER);
    expect(again).toEqual([{ ok: false, fault: "exists" }]);
    expect(await backend.listOwned(FOREVER)).toMatchObject({ containers: [{ state: "stopped" }] });
  });

  it("leaves nothing behind, and finds what is gone already no failure", async () => {
    await using boxes = make();
    const { backend, settings } = boxes;
    const place = boxes.newPlace();
    await backend.prepareWorkspace(place, settings, FOREVER);
    await backend.start(place, settings, FOREVER);
    await expect(backend.removeWorkspace(place.volume, FOREVER)).rejects.toMatchObject({
      code: "box.conflict",
    });
    await backend.removeContainer(place.container, FOREVER);
    await backend.removeWorkspace(place.volume, FOREVER);
    await backend.removeWorkspace(place.volume, FOREVER);
    await backend.stop(place.container, FOREVER);
    expect(await backend.listOwned(FOREVER)).toEqual({ containers: [], volumes: [] });
    expect(await backend.listUids(FOREVER)).not.toContain(place.uid);
  });

  it("makes no empty workspace in silence, and takes nobody else's box", async () => {
    await using boxes = make();
    const { backend, settings } = boxes;
    const place = boxes.newPlace();
    await expect(backend.start(place, settings, FOREVER)).rejects.toMatchObject({ code: "box.not_found" });
    await backend.prepareWorkspace(place, settings, FOREVER);
    await backend.start(place, settings, FOREVER);
    const other = { ...place, sessionId: "ses_somebody_else" as const };
    await expect(backend.start(other, settings, FOREVER)).rejects.toMatchObject({ code: "box.conflict" });
    await expect(backend.open(other, FOREVER)).rejects.toMatchObject({ code: "box.conflict" });
    await expect(backend.prepareWorkspace(other, settings, FOREVER)).rejects.toMatchObject({
      code: "box.conflict",
    });
  });

  it("refuses to run a box with two sets of settings, and makes it anew when it is stopped", async () => {
    await using boxes = make();
    const { backend, settings } = boxes;
    const place = boxes.newPlace();
    await backend.prepareWorkspace(place, settings, FOREVER);
    await backend.start(place, settings, FOREVER);
    const larger = { ...settings, memoryMb: settings.memoryMb * 2 };
    await expect(backend.start(place, larger, FOREVER)).rejects.toMatchObject({ code: "box.conflict" });
    await backend.stop(place.container, FOREVER);
    expect(await backend.start(place, larger, FOREVER)).toBe(true);
  });

  it("lets a box stand still and go on where it was, with the helper it had", async () => {
    await using boxes = make();
    const { backend, settings } = boxes;
    const place = boxes.newPlace();
    await backend.pause(place.container, FOREVER);
    await backend.prepareWorkspace(place, settings, FOREVER);
    await backend.start(place, settings, FOREVER);
    {
      await using box = await backend.open(place, FOREVER);
      await write(box, "/workspace/before.txt", "before");
    }
    const before = await backend.inspect(place.container, FOREVER);
    await backend.pause(place.container, FOREVER);
    await backend.pause(place.container, FOREVER);
    expect(await backend.inspect(place.container, FOREVER)).toEqual({ ...before, state: "paused" });
    expect(await backend.isCurrent(place, settings, FOREVER)).toBe(false);
    await expect(backend.open(place, FOREVER)).rejects.toMatchObject({ code: "box.readiness" });
    expect(await backend.start(place, settings, FOREVER)).toBe(false);
    expect(await backend.inspect(place.container, FOREVER)).toEqual(before);
    await using box = await backend.open(place, FOREVER);
    expect(await read(box, "/workspace/before.txt")).toBe("before");
    await backend.pause(place.container, FOREVER);
    await backend.stop(place.container, FOREVER);
    expect((await backend.inspect(place.container, FOREVER))?.state).toBe("stopped");
    await backend.start(place, settings, FOREVER);
    await backend.pause(place.container, FOREVER);
    await backend.removeContainer(place.container, FOREVER);
    expect(await backend.inspect(place.container, FOREVER)).toBeNull();
  });

  it("says whether a box is what it would make at this moment", async () => {
    await using boxes = make();
    const { backend, settings } = boxes;
    const place = boxes.newPlace();
    expect(await backend.isCurrent(place, settings, FOREVER)).toBe(false);
    await backend.prepareWorkspace(place, settings, FOREVER);
    await backend.start(place, settings, FOREVER);
    expect(await backend.isCurrent(place, settings, FOREVER)).toBe(true);
    const larger = { ...settings, memoryMb: settings.memoryMb * 2 };
    expect(await backend.isCurrent(place, larger, FOREVER)).toBe(false);
  });

  it("takes a box of the pool for the tenant whose session it became", async () => {
    await using boxes = make();
    const { backend, settings } = boxes;
    const spare = { ...boxes.newPlace(), tenant: POOL_TENANT };
    await backend.prepareWorkspace(spare, settings, FOREVER);
    await backend.start(spare, settings, FOREVER);
    const place = { ...spare, tenant: "main" };
    expect(await backend.isCurrent(place, settings, FOREVER)).toBe(true);
    {
      await using box = await backend.open(place, FOREVER);
      await write(box, "/workspace/mine.txt", "mine");
    }
    await backend.removeContainer(place.container, FOREVER);
    await backend.prepareWorkspace(place, settings, FOREVER);
    await backend.start(place, settings, FOREVER);
    await using box = await backend.open(place, FOREVER);
    expect(await read(box, "/workspace/mine.txt")).toBe("mine");
    const other = { ...place, sessionId: "ses_somebody_else" as const };
    await expect(backend.open(other, FOREVER)).rejects.toMatchObject({ code: "box.conflict" });
  });

  it("opens a box again without its engine while the helper stays, and nobody else's and no other life", async () => {
    await using boxes = make();
    const { backend, settings } = boxes;
    const spare = { ...boxes.newPlace(), tenant: POOL_TENANT };
    await backend.prepareWorkspace(spare, settings, FOREVER);
    await backend.start(spare, settings, FOREVER);
    const startedAt = (await backend.inspect(spare.container, FOREVER))?.startedAt ?? "";
    const place = { ...spare, tenant: "main" };
    expect(backend.openServed(place, startedAt)).toBeNull();
    await (await backend.open(spare, FOREVER))[Symbol.asyncDispose]();
    const again = backend.openServed(place, startedAt);
    expect(again === null).toBe(!boxes.hasProcesses);
    if (again !== null) await must(again, ["true"]);
    await again?.[Symbol.asyncDispose]();
    expect(backend.openServed({ ...place, sessionId: "ses_somebody_else" }, startedAt)).toBeNull();
    expect(backend.openServed({ ...place, uid: place.uid + 1 }, startedAt)).toBeNull();
    expect(backend.openServed(place, `${startedAt} before`)).toBeNull();
    await backend.pause(place.container, FOREVER);
    expect(backend.openServed(place, startedAt)).toBeNull();
    await backend.removeContainer(place.container, FOREVER);
    expect(backend.openServed(place, startedAt)).toBeNull();
  });

  it("does nothing for a caller that has given up", async () => {
    await using boxes = make();
    const reason = new Error("given up");
    const options = { signal: AbortSignal.abort(reason) };
    await expect(boxes.backend.probe(options)).rejects.toBe(reason);
    await expect(boxes.backend.listOwned(options)).rejects.toBe(reason);
  });
}

function describeFiles(make: () => BoxesUnderTest): void {
  describe("files", () => {
    const current = useBox(make);
    const here = useDirectory(current);

    it("gives back the bytes that were written, under any name", async () => {
      const { box } = current();
      const all = Uint8Array.from({ length: 70_000 }, (_none, i) => i % 256);
      const names = [
        "报告 é.txt",
        "-rf",
        "two\nlines.txt",
        "a'\"$(id)`;|.txt",
        "e\u0301",
        "\u00e9",
        ".hidden",
      ];
      const directory = here();
      const answers = await box.files.write(
        names.map((name) => aWrite(`${directory}/${name}`, all)),
        FOREVER,
      );
      expect(answers.every((answer) => answer.ok && answer.entry.sizeBytes === all.length)).toBe(true);
      for (const name of names) {
        const bytes = await readBytes(box, `${directory}/${name}`);
        expect([name, Buffer.compare(bytes, all)]).toEqual([name, 0]);
      }
      const listed = await list(box, directory);
      expect(listed.map(({ path }) => path).toSorted()).toEqual(
        names.map((name) => `${directory}/${name}`).toSorted(),
      );
    });

    it("makes the parents of a new file, and a file without bytes", async () => {
      const { box } = current();
      const path = `${here()}/a/b/c.txt`;
      const [answer] = await box.files.write([aWrite(path, "", { fileMode: 0o600 })], FOREVER);
      expect(answer).toMatchObject({ ok: true, entry: { path, sizeBytes: 0, mode: 0o600, kind: "file" } });
      expect(await read(box, path)).toBe("");
    });

    it("creates only what is not there", async () => {
      const { box } = current();
      const path = `${here()}/once.txt`;
      await write(box, path, "first");
      expect(await box.files.write([aWrite(path, "second")], FOREVER)).toEqual([
        { ok: false, fault: "exists" },
      ]);
      expect(await read(box, path)).toBe("first");
    });

    it("overwrites with the mode kept, and only the version that was seen", async () => {
      const { box } = current();
      const path = `${here()}/edited.txt`;
      const [first] = await box.files.write([aWrite(path, "first", { fileMode: 0o640 })], FOREVER);
      const version = first?.ok === true ? first.entry.version : "";
      expect(
        await box.files.write([aWrite(path, "second", { mode: "overwrite", version })], FOREVER),
      ).toMatchObject([{ ok: true, entry: { mode: 0o640, sizeBytes: 6 } }]);
      expect(await box.files.write([aWrite(path, "third", { mode: "overwrite", version })], FOREVER)).toEqual(
        [{ ok: false, fault: "changed" }],
      );
      expect(await read(box, path)).toBe("second");
      expect(
        await box.files.write([aWrite(`${here()}/none`, "x", { mode: "overwrite", version })], FOREVER),
      ).toEqual([{ ok: false, fault: "changed" }]);
    });

    it("appends, and makes the file for the first piece", async () => {
      const { box } = current();
      const path = `${here()}/log.txt`;
      for (const text of ["one ", "two"])
        expect(await box.files.write([aWrite(path, text, { mode: "append" })], FOREVER)).toMatchObject([
          { ok: true },
        ]);
      expect(await read(box, path)).toBe("one two");
    });

    it.each(["abc", "abcdefghijkl"])(
      "leaves nothing of a content that has not the announced length: %s",
      async (text) => {
        const { box } = current();
        const directory = here();
        const wrong = { ...aWrite(`${directory}/wrong.txt`, text), sizeBytes: 5 };
        await expect(
          box.files.write([aWrite(`${directory}/right.txt`, "right"), wrong], FOREVER),
        ).rejects.toMatchObject({ code: "box.validation" });
        expect((await list(box, directory)).map(({ path }) => path)).toEqual([`${directory}/right.txt`]);
      },
    );

    it("leaves nothing of a content that fails, and fails with its reason", async () => {
      const { box } = current();
      const directory = here();
      const reason = new Error("The source broke.");
      const broken = { ...aWrite(`${directory}/broken.txt`, ""), sizeBytes: 9, content: failing(reason) };
      await expect(box.files.write([broken], FOREVER)).rejects.toBe(reason);
      expect(await list(box, directory)).toEqual([]);
    });

    it("reads a part, and a whole selection in one request", async () => {
      const { box } = current();
      const directory = here();
      await write(box, `${directory}/digits`, "0123456789");
      const requests = [
        { path: `${directory}/digits`, offset: 3, length: 4 },
        { path: `${directory}/missing`, offset: 0, length: Number.POSITIVE_INFINITY },
        { path: `${directory}/digits`, offset: 8, length: Number.POSITIVE_INFINITY },
        { path: `${directory}/digits`, offset: 20, length: 1 },
      ];
      const events = await collect(box.files.read(requests, FOREVER));
      expect(events.map(shorten)).toEqual([
        "0 entry",
        "0 3456",
        "0 end",
        "1 not_found",
        "2 entry",
        "2 89",
        "2 end",
        "3 entry",
        "3 end",
      ]);
    });

    it("says that a file is another one than was seen", async () => {
      const { box } = current();
      const path = `${here()}/seen.txt`;
      await write(box, path, "one");
      const [answer] = await box.files.stat([path], FOREVER);
      const version = answer !== undefined && "entry" in answer ? answer.entry.version : "";
      await box.files.write([aWrite(path, "two", { mode: "overwrite" })], FOREVER);
      const request = { path, offset: 0, length: 10, version };
      expect((await collect(box.files.read([request], FOREVER))).map(shorten)).toEqual(["0 changed"]);
      expect(await box.files.remove([{ path, version }], FOREVER)).toEqual([
        { path, ok: false, fault: "changed" },
      ]);
    });

    it("says why a path has no entry", async () => {
      const { box } = current();
      const directory = here();
      await write(box, `${directory}/file`, "x");
      await must(box, ["mkdir", "-p", `${directory}/real`]);
      await must(box, ["ln", "-s", "/etc", `${directory}/link`]);
      const cases = {
        [`${directory}/missing`]: "not_found",
        [`${directory}/link/passwd`]: "symlink_component",
        [`${directory}/file/below`]: "not_directory",
        [`${directory}/../../../etc/passwd`]: "escapes",
        "/etc/passwd": "escapes",
        "/workspaceevil/x": "escapes",
        "relative.txt": "bad_path",
        "": "bad_path",
        [`${directory}/nul\0`]: "bad_path",
        [`${directory}/half\ud800`]: "bad_path",
        [`${directory}/${"n".repeat(256)}`]: "bad_path",
        [`${directory}/${"d/".repeat(2100)}x`]: "bad_path",
      };
      const answers = await box.files.stat(Object.keys(cases), FOREVER);
      expect(
        Object.fromEntries(
          answers.map((answer) => [answer.path, "fault" in answer ? answer.fault : "entry"]),
        ),
      ).toEqual(cases);
    });

    it("describes links, pipes and directories for what they are and reads none of them", async () => {
      const { box } = current();
      const directory = here();
      await write(box, `${directory}/file`, "x");
      await must(box, ["ln", "-s", "file", `${directory}/link`]);
      await must(box, ["ln", `${directory}/file`, `${directory}/twin`]);
      await must(box, ["mkfifo", `${directory}/pipe`]);
      const paths = ["file", "link", "twin", "pipe", "."].map((one) => `${directory}/${one}`);
      const answers = await box.files.stat(paths, FOREVER);
      expect(
        answers.map((answer) =>
          "entry" in answer ? [answer.entry.kind, answer.entry.linkCount > 1] : answer.fault,
        ),
      ).toEqual([
        ["file", true],
        ["link", false],
        ["file", true],
        ["other", false],
        ["directory", expect.anything()],
      ]);
      const refused = ["link", "pipe", "."].map((one) => aRead(`${directory}/${one}`));
      const events = await collect(box.files.read([...refused, aRead("/workspace")], FOREVER));
      expect(events.map(shorten)).toEqual([
        "0 not_regular",
        "1 not_regular",
        "2 not_regular",
        "3 not_regular",
      ]);
    });

    it("says that a file cannot be read", async () => {
      const { box } = current();
      const path = `${here()}/secret`;
      await write(box, path, "x");
      await must(box, ["chmod", "000", path]);
      expect(await box.files.stat([path], FOREVER)).toMatchObject([{ entry: { readable: false } }]);
      expect((await collect(box.files.read([aRead(path)], FOREVER))).map(shorten).at(-1)).toBe(
        "0 unreadable",
      );
    });

    it("writes through no link and over nothing but files", async () => {
      const { box } = current();
      const directory = here();
      await must(box, ["mkdir", "-p", `${directory}/real`]);
      await must(box, ["ln", "-s", `${directory}/real`, `${directory}/link`]);
      await must(box, ["ln", "-s", `${directory}/real/new`, `${directory}/last`]);
      const answers = await box.files.write(
        [
          aWrite(`${directory}/link/x`, "x"),
          aWrite(`${directory}/last`, "x", { mode: "overwrite" }),
          aWrite(`${directory}/last`, "x", { mode: "append" }),
          aWrite(`${directory}/last`, "x"),
          aWrite(`${directory}/real`, "x", { mode: "overwrite" }),
          aWrite("/workspace", "x", { mode: "overwrite" }),
          aWrite("/etc/x", "x"),
        ],
        FOREVER,
      );
      expect(answers.map((answer) => (answer.ok ? "ok" : answer.fault))).toEqual([
        "symlink_component",
        "not_regular",
        "not_regular",
        "exists",
        "not_regular",
        "not_regular",
        "escapes",
      ]);
      expect(await list(box, `${directory}/real`)).toEqual([]);
    });

    it("lists a tree to a depth and to a number of entries, without what is to be skipped", async () => {
      const { box } = current();
      const directory = here();
      for (const path of ["a/b/deep.txt", "a/one.txt", "node_modules/x.js", "top.txt"])
        await write(box, `${directory}/${path}`, path);
      await must(box, ["ln", "-s", "/", `${directory}/root`]);
      const names = async (
        depth: number,
        maxEntries: number,
      ): Promise<readonly [readonly string[], boolean]> => {
        const answer = await box.files.list(
          { path: directory, depth, maxEntries, skip: ["node_modules"] },
          FOREVER,
        );
        if (!answer.ok) throw new Error(answer.fault);
        return [
          answer.entries.map(({ path }) => path.slice(directory.length + 1)).toSorted(),
          answer.truncated,
        ];
      };
      expect(await names(1, 100)).toEqual([["a", "root", "top.txt"], false]);
      expect(await names(9, 100)).toEqual([
        ["a", "a/b", "a/b/deep.txt", "a/one.txt", "root", "top.txt"],
        false,
      ]);
      expect((await names(9, 4))[0]).toHaveLength(4);
      expect((await names(9, 4))[1]).toBe(true);
      expect((await names(9, 6))[1]).toBe(false);
    });

    it("lists nothing but directories", async () => {
      const { box } = current();
      const directory = here();
      await write(box, `${directory}/file`, "x");
      await must(box, ["ln", "-s", "/etc", `${directory}/link`]);
      const faults: string[] = [];
      for (const path of [`${directory}/none`, `${directory}/file`, `${directory}/link`, "/etc"]) {
        const answer = await box.files.list({ path, depth: 1, maxEntries: 9, skip: [] }, FOREVER);
        faults.push(answer.ok ? "ok" : answer.fault);
      }
      expect(faults).toEqual(["not_found", "not_directory", "symlink_component", "escapes"]);
    });

    it("removes exactly what is named, of a link the link", async () => {
      const { box } = current();
      const directory = here();
      for (const path of ["gone.txt", "kept.txt", "tree/a/b.txt"])
        await write(box, `${directory}/${path}`, "x");
      await must(box, ["ln", "-s", `${directory}/kept.txt`, `${directory}/link`]);
      const targets = [
        { path: `${directory}/gone.txt` },
        { path: `${directory}/missing` },
        { path: `${directory}/tree` },
        { path: `${directory}/tree`, recursive: true },
        { path: `${directory}/link` },
        { path: `${directory}/link/x` },
        { path: "/workspace", recursive: true },
      ];
      const answers = await box.files.remove(targets, FOREVER);
      expect(answers.map(({ ok, fault }) => (ok ? "ok" : fault))).toEqual([
        "ok",
        "not_found",
        "not_regular",
        "ok",
        "ok",
        "not_found",
        "denied",
      ]);
      expect((await list(box, directory)).map(({ path }) => path)).toEqual([`${directory}/kept.txt`]);
    });

    it("makes directories empty, whatever had their name", async () => {
      const { box } = current();
      const directory = here();
      await write(box, `${directory}/full/old.txt`, "old");
      await write(box, `${directory}/file`, "x");
      await write(box, `${directory}/target/kept.txt`, "kept");
      await must(box, ["ln", "-s", `${directory}/target`, `${directory}/link`]);
      await box.files.resetDirectories(
        ["full", "file", "link", "new/below"].map((one) => `${directory}/${one}`),
        FOREVER,
      );
      expect(
        (await list(box, directory))
          .map(({ path, kind }) => `${kind} ${path.slice(directory.length + 1)}`)
          .toSorted(),
      ).toEqual([
        "directory file",
        "directory full",
        "directory link",
        "directory new",
        "directory new/below",
        "directory target",
        "file target/kept.txt",
      ]);
    });

    it("answers an empty selection, and nobody who has given up", async () => {
      const { box } = current();
      const reason = new Error("given up");
      const options = { signal: AbortSignal.abort(reason) };
      expect(await box.files.stat([], FOREVER)).toEqual([]);
      expect(await box.files.write([], FOREVER)).toEqual([]);
      await expect(box.files.stat(["/workspace"], options)).rejects.toBe(reason);
      await expect(collect(box.files.read([aRead("/workspace/x")], options))).rejects.toBe(reason);
    });
  });
}

/** What a box does to the modes of its own directories costs no later message anything (box §1.3). */
function describeLockedOut(make: () => BoxesUnderTest): void {
  describe("a box that locked itself out", () => {
    const current = useBox(make);

    it.for([
      "chmod 000 /workspace",
      "chmod 0 /workspace/inbox /workspace/outbox",
      "chmod 0 /workspace/outbox/run_old /workspace/inbox /workspace/outbox /workspace",
      "chmod 0555 /workspace/outbox /workspace",
      "chmod 0 /workspace/.home",
      "chmod 0 /workspace/.tool-results",
    ])("is of use to the next one who opens it, after %s", async (command, { skip }) => {
      const { box, boxes, place } = current();
      skip(!boxes.hasDirectoryModes, "Modes of directories mean nothing here.");
      const [inbox, outbox] = ["/workspace/inbox/run_new", "/workspace/outbox/run_new"] as const;
      const others = [
        "/workspace/inbox/run_old/in.txt",
        "/workspace/outbox/run_old/out.txt",
        "/workspace/top.txt",
      ];
      for (const path of [...others, `${inbox}/old.txt`])
        await box.files.write([aWrite(path, "kept", { mode: "overwrite" })], FOREVER);
      await must(box, ["sh", "-c", `chmod 0750 /workspace/inbox && ${command}`]);

      await using next = await boxes.backend.open(place, FOREVER);
      await next.files.resetDirectories([inbox, outbox], FOREVER);
      expect(
        await run(next, ["sh", "-c", "echo x > new.txt && cat new.txt"], { workdir: inbox }),
      ).toMatchObject({
        exit: { exitCode: 0 },
        stdout: "x\n",
      });
      expect((await list(next, inbox)).map(({ path }) => path)).toEqual([`${inbox}/new.txt`]);
      await must(next, ["chmod", "u+rwx", "/workspace/outbox/run_old"]);
      for (const path of others) expect(await read(next, path)).toBe("kept");
    });

    it("keeps what others may do with the directories that it gets back", async ({ skip }) => {
      const { box, boxes } = current();
      skip(!boxes.hasDirectoryModes, "Modes of directories mean nothing here.");
      await must(box, [
        "sh",
        "-c",
        "cd /workspace && mkdir -p a/b && chmod 0041 a/b && chmod 0027 a && chmod 0050 .",
      ]);
      await box.files.resetDirectories(["/workspace/a/b/c"], FOREVER);
      const { stdout } = await run(box, ["stat", "-c", "%a", ".", "a", "a/b", "a/b/c"]);
      expect(stdout.trim().split("\n")).toEqual(["750", "727", "741", "755"]);
    });

    it("answers for files as before until its directories are made anew", async ({ skip }) => {
      const { box, boxes } = current();
      skip(!boxes.hasDirectoryModes, "Modes of directories mean nothing here.");
      await write(box, "/workspace/shut/file", "x");
      await must(box, ["chmod", "0", "/workspace/shut"]);
      expect(await box.files.stat(["/workspace/shut/file"], FOREVER)).toMatchObject([
        { fault: "unreadable" },
      ]);
      expect(await box.files.write([aWrite("/workspace/shut/new", "x")], FOREVER)).toEqual([
        { ok: false, fault: "denied" },
      ]);
      expect((await box.files.stat(["/workspace/shut"], FOREVER))[0]).toMatchObject({ entry: { mode: 0 } });
    });
  });
}

function describeCommands(make: () => BoxesUnderTest): void {
  describe("commands", () => {
    const current = useBox(make);

    it("tells exit code and output, each stream for itself", async () => {
      const result = await run(current().box, ["sh", "-lc", "echo out; echo err >&2; exit 3"]);
      expect(result).toMatchObject({ stdout: "out\n", stderr: "err\n" });
      expect(result.exit).toMatchObject({ status: "completed", exitCode: 3, leftovers: 0 });
    });

    it("takes arguments as they are, and gives an empty input", async () => {
      const { box } = current();
      expect((await run(box, ["printf", "$(id) 'x' \"y\" é\\n"])).stdout.trimEnd()).toContain(
        "$(id) 'x' \"y\" é",
      );
      expect((await run(box, ["cat"])).exit.exitCode).toBe(0);
    });

    it("says that there is no such program as a shell does", async () => {
      const result = await run(current().box, ["no-such-program"]);
      expect(result.exit).toMatchObject({ status: "completed", exitCode: 127 });
      expect(result.stderr).toContain("no-such-program");
    });

    it("makes the working directory and starts there", async () => {
      const { box } = current();
      const result = await run(box, ["sh", "-lc", 'echo "$PWD"'], { workdir: "/workspace/made/here" });
      expect(result.stdout).toBe("/workspace/made/here\n");
      await must(box, ["ln", "-s", "/tmp", "/workspace/elsewhere"]);
      for (const workdir of [
        "/etc",
        "/workspace/../etc",
        "/workspace/elsewhere",
        "relative",
        "/workspace/nul\0",
      ])
        await expect(run(box, ["true"], { workdir })).rejects.toMatchObject({
          code: "box.validation",
        });
    });

    it.each([
      ["nothing", []],
      ["an empty program", [""]],
      ["a NUL", ["echo", "a\0b"]],
      ["half a character", ["echo", "\ud800"]],
      ["an argument above 131071 bytes", ["echo", "x".repeat(131_072)]],
    ])("refuses %s", async (_what, argv) => {
      await expect(run(current().box, argv)).rejects.toMatchObject({ code: "box.validation" });
    });

    it("stops a command at its time limit and returns what it said", async () => {
      const result = await run(current().box, ["sh", "-lc", "echo early; sleep 1000"], { timeoutMs: 300 });
      expect(result.stdout).toBe("early\n");
      expect(result.exit).toMatchObject({ status: "timed_out", exitCode: null });
      expect(result.exit.notes.length).toBeGreaterThan(0);
    });

    it("stops a cancelled command and still tells its end", async () => {
      const cancel = new AbortController();
      const request = aCommand(["sh", "-lc", "echo begun; sleep 1000"]);
      let exit: ExecExit | null = null;
      for await (const event of current().box.exec(request, { signal: cancel.signal }))
        if (event.type === "exit") exit = event.exit;
        else cancel.abort();
      expect(exit).toMatchObject({ status: "cancelled", exitCode: null });
    });

    it("starts nothing for a caller that has given up", async () => {
      const reason = new Error("given up");
      const events = current().box.exec(aCommand(["true"]), { signal: AbortSignal.abort(reason) });
      await expect(collect(events)).rejects.toBe(reason);
    });

    it("says that a signal ended the command", async () => {
      const result = await run(current().box, ["sh", "-c", "kill -9 $$"]);
      expect(result.exit).toMatchObject({ status: "killed", exitCode: null });
      expect(result.exit.notes.join(" ")).toContain("SIGKILL");
    });

    it("answers when the foreground command ends, and says what it left", async () => {
      const result = await run(current().box, ["sh", "-lc", "sleep 1000 & exit 3"]);
      expect(result.exit).toMatchObject({ status: "completed", exitCode: 3, leftovers: 1 });
      expect(result.exit.notes.length).toBeGreaterThan(0);
    });

    it("gives all output to a reader that takes its time, and to one that leaves early", async () => {
      const { box, boxes } = current();
      const request = aCommand(["head", "-c", String(boxes.floodBytes), "/dev/zero"], { timeoutMs: 60_000 });
      let sizeBytes = 0;
      for await (const event of box.exec(request, FOREVER)) {
        if (event.type === "output") sizeBytes += event.bytes.length;
        await Promise.resolve();
      }
      expect(sizeBytes).toBe(boxes.floodBytes);
      for await (const event of box.exec(request, FOREVER)) if (event.type === "output") break;
      expect((await run(box, ["true"])).exit.exitCode).toBe(0);
    });

    it("is of no use after it was given back, once or twice", async () => {
      await using boxes = make();
      const place = boxes.newPlace();
      await boxes.backend.prepareWorkspace(place, boxes.settings, FOREVER);
      await boxes.backend.start(place, boxes.settings, FOREVER);
      const box = await boxes.backend.open(place, FOREVER);
      await run(box, ["sh", "-lc", "sleep 1000 & exit 0"]);
      await box[Symbol.asyncDispose]();
      await box[Symbol.asyncDispose]();
      await expect(run(box, ["true"])).rejects.toMatchObject({ code: "box.readiness" });
    });
  });
}

/** An empty directory for each rule. */
function useDirectory(current: () => { readonly box: BoxHandle }): () => string {
  let count = 0;
  const path = (): string => `/workspace/rules/${count}`;
  beforeEach(async () => {
    count += 1;
    await current().box.files.resetDirectories([path()], FOREVER);
  });
  return path;
}

export function aCommand(argv: readonly string[], fields: Partial<ExecRequest> = {}): ExecRequest {
  return { argv, workdir: "/workspace", env: {}, timeoutMs: 20_000, ...fields };
}

export async function run(
  box: BoxHandle,
  argv: readonly string[],
  fields: Partial<ExecRequest> = {},
): Promise<{ readonly exit: ExecExit; readonly stdout: string; readonly stderr: string }> {
  const streams: Record<"stdout" | "stderr", Uint8Array[]> = { stdout: [], stderr: [] };
  let exit: ExecExit | null = null;
  for await (const event of box.exec(aCommand(argv, fields), FOREVER))
    if (event.type === "exit") exit = event.exit;
    else streams[event.stream].push(event.bytes);
  if (exit === null) throw new Error("The command has no exit.");
  return {
    exit,
    stdout: Buffer.concat(streams.stdout).toString("utf8"),
    stderr: Buffer.concat(streams.stderr).toString("utf8"),
  };
}

async function must(box: BoxHandle, argv: readonly string[]): Promise<void> {
  const { exit, stderr } = await run(box, argv);
  if (exit.exitCode !== 0) throw new Error(`${argv.join(" ")}: ${stderr}`);
}

function aWrite(
  path: string,
  content: string | Uint8Array,
  fields: Partial<WriteRequest> = {},
): WriteRequest {
  const bytes = Buffer.from(content);
  return { path, mode: "create", sizeBytes: bytes.length, content: pieces(bytes), ...fields };
}

async function* pieces(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  for (let start = 0; start < bytes.length; start += 10_000) yield bytes.subarray(start, start + 10_000);
}

async function* failing(reason: Error): AsyncIterable<Uint8Array> {
  yield Buffer.from("half");
  throw reason;
}

function aRead(path: string): { readonly path: string; readonly offset: number; readonly length: number } {
  return { path, offset: 0, length: Number.POSITIVE_INFINITY };
}

async function write(box: BoxHandle, path: string, content: string): Promise<void> {
  const [answer] = await box.files.write([aWrite(path, content)], FOREVER);
  if (answer?.ok !== true) throw new Error(`${path}: ${answer?.fault}`);
}

async function readBytes(box: BoxHandle, path: string): Promise<Uint8Array> {
  const events = await collect(box.files.read([aRead(path)], FOREVER));
  const last = events.at(-1);
  if (last?.type !== "end") throw new Error(`${path}: ${JSON.stringify(last)}`);
  return Buffer.concat(events.flatMap((event) => (event.type === "bytes" ? [event.bytes] : [])));
}

async function read(box: BoxHandle, path: string): Promise<string> {
  return Buffer.from(await readBytes(box, path)).toString("utf8");
}

async function list(box: BoxHandle, path: string): Promise<readonly FileEntry[]> {
  const answer = await box.files.list({ path, depth: 9, maxEntries: 1000, skip: [] }, FOREVER);
  if (answer.ok) return answer.entries;
  if (answer.fault === "not_found") return [];
  throw new Error(`${path}: ${answer.fault}`);
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

function shorten(event: FileStreamEvent): string {
  if (event.type === "bytes") return `${event.index} ${Buffer.from(event.bytes).toString("utf8")}`;
  return `${event.index} ${event.type === "fault" ? event.fault : event.type}`;
}
