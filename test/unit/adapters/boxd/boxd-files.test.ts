import { describe, expect, it } from "vitest";
import { BoxdConnection } from "../../../../src/adapters/boxd/boxd-connection.js";
import { BoxdFiles } from "../../../../src/adapters/boxd/boxd-files.js";
import { FieldWriter } from "../../../../src/adapters/boxd/fields.js";
import { ASK, HEAR, INDEX_WHOLE, SAY } from "../../../../src/adapters/boxd/protocol.js";
import type { FileStreamEvent, WriteRequest } from "../../../../src/ports/box-handle.js";
import { textLike } from "../../../support/text-like.js";
import { type Asked, entryFields, ScriptedChannel } from "./scripted-channel.js";

const FOREVER = { signal: new AbortController().signal };

interface World {
  readonly channel: ScriptedChannel;
  readonly connection: BoxdConnection;
  readonly files: BoxdFiles;
}

/** Files over a helper that answers every request like this. */
async function filesOver(answer: (channel: ScriptedChannel, asked: Asked) => void): Promise<World> {
  const channel = new ScriptedChannel();
  channel.hello();
  const connection = await BoxdConnection.open(channel, FOREVER);
  channel.onAsked = (asked) => answer(channel, asked);
  return { channel, connection, files: new BoxdFiles(async () => Promise.resolve(connection)) };
}

const indexed = (index: number): FieldWriter => new FieldWriter().u32(index);
const entry = (index: number, sizeBytes = 5): Buffer => indexed(index).all(entryFields(sizeBytes)).finish();
const fault = (index: number, word: string): Buffer => indexed(index).text(word).finish();
const bytes = (index: number, text: string): Buffer =>
  Buffer.concat([indexed(index).finish(), Buffer.from(text)]);
const COMPLETE = Buffer.of(0);

async function collect(events: AsyncIterable<FileStreamEvent>): Promise<readonly string[]> {
  const all: string[] = [];
  for await (const event of events) all.push(event.type === "fault" ? event.fault : event.type);
  return all;
}

function aWrite(text: string, sizeBytes = text.length): WriteRequest {
  return { path: "/workspace/a", mode: "create", sizeBytes, content: once(text) };
}

async function* once(text: string) {
  yield Buffer.from(text);
}

/** Files over a helper that says of every file that it has five bytes, and these are they. */
async function sayFile(text: string): Promise<World> {
  return filesOver((far, { type, id }) => {
    if (type !== ASK.read) return;
    far.say(HEAR.entry, id, entry(0));
    far.say(HEAR.bytes, id, bytes(0, text));
    far.say(HEAR.finished, id, indexed(0).finish());
    far.say(HEAR.done, id, COMPLETE);
  });
}

describe("BoxdFiles", () => {
  it("asks for a selection in one request, a path that is none as one that is refused, and answers in order", async () => {
    const { channel, files } = await filesOver((far, { type, id }) => {
      if (type !== ASK.stat) return;
      far.say(HEAR.entry, id, entry(0));
      far.say(HEAR.fault, id, fault(1, "escapes"));
      far.say(HEAR.done, id, COMPLETE);
    });
    const answers = await files.stat(["/workspace/a//b", "/etc"], FOREVER);
    expect(channel.asked.at(1)?.payload.toString("latin1")).toContain("a/b");
    expect(answers).toMatchObject([
      { path: "/workspace/a//b", entry: { path: "/workspace/a/b", sizeBytes: 5 } },
      { path: "/etc", fault: "escapes" },
    ]);
  });

  it.each([
    ["an answer too few", [{ kind: HEAR.entry, payload: entry(0) }]],
    ["an answer too many", [0, 1, 2].map((index) => ({ kind: HEAR.entry, payload: entry(index) }))],
    ["answers in another order", [{ kind: HEAR.entry, payload: entry(1) }]],
    ["a word that nobody knows", [{ kind: HEAR.fault, payload: fault(0, "whatever") }]],
    ["an entry that does not fit", [{ kind: HEAR.entry, payload: entry(0).subarray(0, -1) }]],
    ["bytes where an entry was due", [{ kind: HEAR.bytes, payload: bytes(0, "x") }]],
  ])("does not know the outcome after %s", async (_what, frames) => {
    const { files } = await filesOver((far, { type, id }) => {
      if (type !== ASK.stat) return;
      for (const { kind, payload } of frames) far.say(kind, id, payload);
      far.say(HEAR.done, id, COMPLETE);
    });
    await expect(files.stat(["/workspace/a", "/workspace/b"], FOREVER)).rejects.toMatchObject({
      code: "box.engine_unavailable",
    });
  });

  it("says that the box is too full for a request", async () => {
    const { files, connection } = await filesOver((far, { type, id }) => {
      if (type !== ASK.stat) return;
      far.say(HEAR.fault, id, fault(INDEX_WHOLE, "busy"));
      far.say(HEAR.done, id, Buffer.of(3));
    });
    await expect(files.stat(["/workspace/a"], FOREVER)).rejects.toMatchObject({ code: "box.readiness" });
    expect(connection.end).toBeNull();
  });

  it("counts what it reads: more bytes than the file has end the connection, fewer are a change", async () => {
    const request = { path: "/workspace/a", offset: 0, length: 99 };
    const short = await sayFile("1234");
    expect(await collect(short.files.read([request], FOREVER))).toEqual(["entry", "bytes", "changed"]);
    const long = await sayFile("123456");
    await expect(collect(long.files.read([request], FOREVER))).rejects.toMatchObject({
      message: textLike(/more bytes than the file has/),
    });
    expect(long.connection.end?.type).toBe("fault");
  });

  it("ends a helper that sends more than it was allowed to", async () => {
    const { files, connection } = await filesOver((far, { type, id }) => {
      if (type !== ASK.read) return;
      far.say(HEAR.entry, id, entry(0, 10_000_000));
      for (let piece = 0; piece < 10; piece += 1)
        far.say(HEAR.bytes, id, Buffer.concat([indexed(0).finish(), Buffer.alloc(65_000)]));
    });
    const request = { path: "/workspace/a", offset: 0, length: 10_000_000 };
    const events = files.read([request], FOREVER)[Symbol.asyncIterator]();
    await events.next();
    for (let turn = 0; turn < 100; turn += 1) await Promise.resolve();
    expect(connection.end).toMatchObject({
      type: "fault",
      cause: { message: textLike(/more than it was allowed/) },
    });
    await events.return?.();
  });

  it("sends no more contents than the helper's window, and goes on as it is given back", async () => {
    let onTheWay = 0;
    let most = 0;
    const { files } = await filesOver((far, { type, id, payload }) => {
      if (type !== SAY.data && type !== SAY.end) return;
      onTheWay += 12 + payload.length;
      most = Math.max(most, onTheWay);
      if (type === SAY.end) {
        far.say(HEAR.entry, id, entry(0, 1_000_000));
        far.say(HEAR.done, id, COMPLETE);
      } else if (onTheWay > 65_536) {
        far.say(HEAR.credit, id, new FieldWriter().u32(onTheWay).finish());
        onTheWay = 0;
      }
    });
    const text = "x".repeat(1_000_000);
    expect(await files.write([aWrite(text)], FOREVER)).toMatchObject([{ ok: true }]);
    expect(most).toBeLessThanOrEqual(131_072);
  });

  it("takes nothing while the host's disk is down to its reserve, and says what is known of the room", async () => {
    let isFull = true;
    const { channel, connection } = await filesOver((far, { type, id }) => {
      if (type !== SAY.end) return;
      far.say(HEAR.fault, id, fault(0, "no_space"));
      far.say(HEAR.done, id, COMPLETE);
    });
    const files = new BoxdFiles(async () => Promise.resolve(connection), {
      isHostFull: async () => Promise.resolve(isFull),
      explainNoSpace: async (sizeBytes) => Promise.resolve(`${isFull} ${sizeBytes}`),
    });
    expect(await files.write([aWrite("hello")], FOREVER)).toEqual([
      { ok: false, fault: "no_space", space: "true 5" },
    ]);
    isFull = false;
    expect(await files.write([aWrite("hello")], FOREVER)).toEqual([
      { ok: false, fault: "no_space", space: "false 5" },
    ]);
    await channel.close();
  });

  it("takes a write back whose content fails or has another length, and waits until that is done", async () => {
    const seen: number[] = [];
    const { files, connection } = await filesOver((far, { type, id }) => {
      seen.push(type);
      if (type === SAY.cancel) far.say(HEAR.done, id, Buffer.of(1));
    });
    await expect(files.write([aWrite("abc", 5)], FOREVER)).rejects.toMatchObject({ code: "box.validation" });
    expect(seen).toEqual([ASK.write, SAY.data, SAY.cancel]);
    expect(connection.end).toBeNull();
  });

  it.each(["../x", "a//b", "", ".", "a/\0"])(
    "refuses a listed name that leads elsewhere: %j",
    async (name) => {
      const { files } = await filesOver((far, { type, id }) => {
        if (type !== ASK.list) return;
        far.say(HEAR.entries, id, new FieldWriter().u32(1).text(name).all(entryFields(1)).finish());
      });
      await expect(
        files.list({ path: "/workspace", depth: 1, maxEntries: 9, skip: [] }, FOREVER),
      ).rejects.toMatchObject({ message: textLike(/leads elsewhere/) });
    },
  );

  it("takes a request back when its caller gives up", async () => {
    const caller = new AbortController();
    const { channel, files } = await filesOver((_far, { type }) => {
      if (type === ASK.stat) caller.abort(new Error("given up"));
    });
    await expect(files.stat(["/workspace/a"], { signal: caller.signal })).rejects.toThrow("given up");
    expect(channel.asked.at(-1)?.type).toBe(SAY.cancel);
  });
});
