import { afterEach, describe, expect, it, vi } from "vitest";
import { BoxdConnection, type FrameSink } from "../../../../src/adapters/boxd/boxd-connection.js";
import { type BoxdFrame, encodeFrame } from "../../../../src/adapters/boxd/frame-codec.js";
import { ASK, HEAR, SAY } from "../../../../src/adapters/boxd/protocol.js";
import { type ServiceError, toServiceError } from "../../../../src/domain/errors.js";
import { exitPayload, helloPayload, ScriptedChannel } from "./scripted-channel.js";

const FOREVER = { signal: new AbortController().signal };
const EMPTY = Buffer.alloc(0);

class KeptSink implements FrameSink {
  readonly frames: BoxdFrame[] = [];
  lost: ServiceError | null = null;

  take(frame: BoxdFrame): void {
    this.frames.push(frame);
  }

  lose(cause: ServiceError): void {
    this.lost = cause;
  }
}

async function connected(): Promise<{
  readonly channel: ScriptedChannel;
  readonly connection: BoxdConnection;
}> {
  const channel = new ScriptedChannel();
  channel.hello();
  return { channel, connection: await BoxdConnection.open(channel, FOREVER) };
}

/** Lets everything run that waits for nothing but its turn. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 30; turn += 1) await Promise.resolve();
}

afterEach(() => {
  vi.useRealTimers();
});

describe("BoxdConnection", () => {
  it("greets back, and gives each request the frames with its id, in any order", async () => {
    const { channel, connection } = await connected();
    await using _closed = connection;
    const [one, two] = [new KeptSink(), new KeptSink()];
    const ids = [connection.ask(ASK.stat, EMPTY, one), connection.ask(ASK.spawn, EMPTY, two)];
    channel.say(HEAR.done, ids[1] ?? 0, Buffer.of(0));
    channel.say(HEAR.entry, ids[0] ?? 0);
    channel.say(HEAR.done, ids[0] ?? 0, Buffer.of(0));
    await turns();
    expect(channel.asked.map(({ type }) => type)).toEqual([SAY.hello, ASK.stat, ASK.spawn]);
    expect([one, two].map(({ frames }) => frames.map(({ type }) => type))).toEqual([
      [HEAR.entry, HEAR.done],
      [HEAR.done],
    ]);
    expect([connection.end, connection.version, connection.windowBytes]).toEqual([null, "1.0.0", 131_072]);
  });

  it.each([
    ["speaks another protocol", encodeFrame(HEAR.hello, 0, helloPayload(2))],
    ["takes less than its protocol says", encodeFrame(HEAR.hello, 0, helloPayload().fill(0, 6, 10))],
    ["is no helper at all", Buffer.from("OCI runtime exec failed: exec failed: unable to start")],
    ["says something else first", encodeFrame(HEAR.pong, 0)],
    ["answers before it has greeted", encodeFrame(HEAR.done, 1, Buffer.of(0))],
  ])("refuses one that %s, and closes the channel", async (_what, bytes) => {
    const channel = new ScriptedChannel();
    channel.push(bytes);
    await expect(BoxdConnection.open(channel, FOREVER)).rejects.toMatchObject({
      code: "box.engine_unavailable",
    });
    expect(channel.isClosed).toBe(true);
  });

  it("gives up one that ends, stays silent, or is not wanted any more", async () => {
    vi.useFakeTimers();
    const [ended, silent, unwanted] = [new ScriptedChannel(), new ScriptedChannel(), new ScriptedChannel()];
    ended.end();
    const caller = new AbortController();
    const openings = [
      BoxdConnection.open(ended, FOREVER),
      BoxdConnection.open(silent, FOREVER),
      BoxdConnection.open(unwanted, { signal: caller.signal }),
    ].map(async (opening) => opening.catch((error: unknown) => toServiceError(error).message));
    const reason = new Error("given up");
    caller.abort(reason);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await Promise.all(openings)).toEqual([
      "The helper in the box ended before it had answered.",
      "The helper did not greet within 10 s.",
      "The service failed in an unexpected way.",
    ]);
    expect([ended, silent, unwanted].map(({ isClosed }) => isClosed)).toEqual([true, true, true]);
  });

  it.each([
    ["an id that nobody uses", encodeFrame(HEAR.done, 99, Buffer.of(0))],
    ["a second greeting", encodeFrame(HEAR.hello, 0, helloPayload())],
    ["an answer to no ping", encodeFrame(HEAR.pong, 0)],
    ["its own farewell", encodeFrame(HEAR.error, 0, Buffer.from("\u0003\0\0\0why"))],
    ["garbage", Buffer.alloc(64, 0xff)],
  ])("ends at %s, and everything open fails", async (_what, bytes) => {
    const { channel, connection } = await connected();
    const sink = new KeptSink();
    connection.ask(ASK.stat, EMPTY, sink);
    channel.push(bytes);
    await turns();
    expect(connection.end?.type).toBe("fault");
    expect(sink.lost).toMatchObject({ code: "box.engine_unavailable" });
    expect(channel.isClosed).toBe(true);
    expect(() => connection.ask(ASK.stat, EMPTY, sink)).toThrow(
      expect.objectContaining({ code: "box.engine_unavailable" }),
    );
  });

  it.each([
    ["ends", undefined],
    ["breaks", new Error("ECONNRESET")],
  ])("tells everything open that the stream %s", async (_what, error) => {
    const { channel, connection } = await connected();
    const sink = new KeptSink();
    connection.ask(ASK.stat, EMPTY, sink);
    channel.end(error);
    await turns();
    expect(connection.end).toEqual({ type: "ended", cause: error ?? null });
    expect(sink.lost?.message).toBe("The helper in the box ended before it had answered.");
  });

  it("asks for a sign of life, and ends when none comes within 20 s", async () => {
    vi.useFakeTimers();
    const { channel, connection } = await connected();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(channel.asked.at(-1)?.type).toBe(SAY.ping);
    channel.say(HEAR.pong, 0, Buffer.from("berth"));
    await vi.advanceTimersByTimeAsync(39_999);
    expect(connection.end).toBeNull();
    await vi.advanceTimersByTimeAsync(1);
    expect(connection.end).toMatchObject({
      type: "fault",
      cause: { message: "The helper did not answer within 20 s." },
    });
  });

  it("tells when nothing comes for 3 s after something was asked, once, and not while answers come", async () => {
    vi.useFakeTimers();
    const { channel, connection } = await connected();
    await using _closed = connection;
    const told = vi.fn<() => void>();
    connection.onSilence = told;
    const id = connection.ask(ASK.spawn, EMPTY, new KeptSink());
    for (let second = 0; second < 5; second += 1) {
      channel.say(HEAR.stdout, id);
      await vi.advanceTimersByTimeAsync(1000);
    }
    expect(told).toHaveBeenCalledTimes(0);
    await vi.advanceTimersByTimeAsync(3000);
    expect(told).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(5000);
    expect(told).toHaveBeenCalledTimes(1);
    connection.say(SAY.kill, id);
    await vi.advanceTimersByTimeAsync(3000);
    expect(told).toHaveBeenCalledTimes(2);
    channel.say(HEAR.done, id, Buffer.of(0));
    connection.say(SAY.kill, id);
    await vi.advanceTimersByTimeAsync(3000);
    expect(told).toHaveBeenCalledTimes(2);
  });

  it("tells that a ping has no answer only while something is open", async () => {
    vi.useFakeTimers();
    const { channel, connection } = await connected();
    await using _closed = connection;
    const told = vi.fn<() => void>();
    connection.onSilence = told;
    await vi.advanceTimersByTimeAsync(30_000);
    channel.say(HEAR.pong, 0);
    expect(told).toHaveBeenCalledTimes(0);
    connection.ask(ASK.spawn, EMPTY, new KeptSink());
    await vi.advanceTimersByTimeAsync(4000);
    told.mockClear();
    await vi.advanceTimersByTimeAsync(28_000);
    expect(told).toHaveBeenCalledTimes(1);
  });

  it("takes no silence amiss while the box stands still, nor of a ping from before, and asks again after", async () => {
    vi.useFakeTimers();
    const { channel, connection } = await connected();
    await using _closed = connection;
    const pings = (): number => channel.asked.filter(({ type }) => type === SAY.ping).length;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(pings()).toBe(1);
    await vi.advanceTimersByTimeAsync(12_000);
    connection.suspend();
    await vi.advanceTimersByTimeAsync(300_000);
    expect([connection.end, pings()]).toEqual([null, 1]);
    connection.resume();
    channel.say(HEAR.pong, 0, Buffer.from("berth"));
    await vi.advanceTimersByTimeAsync(20_000);
    expect([connection.end, pings()]).toEqual([null, 2]);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(connection.end).toMatchObject({ type: "fault" });
  });

  it("gives a helper that stood still within a heartbeat a whole one to answer", async () => {
    vi.useFakeTimers();
    const { connection } = await connected();
    await using _closed = connection;
    await vi.advanceTimersByTimeAsync(21_000);
    connection.suspend();
    await vi.advanceTimersByTimeAsync(2000);
    connection.resume();
    await vi.advanceTimersByTimeAsync(17_000);
    expect(connection.end).toBeNull();
    await vi.advanceTimersByTimeAsync(40_000);
    expect(connection.end).toMatchObject({ type: "fault" });
  });

  it("survives 10,000 mutated answers: each leaves the request open, ended as told, or lost", async () => {
    let state = 7;
    const roll = (below: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return (state >>> 8) % below;
    };
    const honest = Buffer.concat([
      encodeFrame(HEAR.stdout, 1, Buffer.from("hello")),
      encodeFrame(HEAR.exit, 1, exitPayload()),
      encodeFrame(HEAR.done, 1, Buffer.of(0)),
    ]);
    const seen = new Map<string, number>();
    for (let round = 0; round < 200; round += 1) {
      const { channel, connection } = await connected();
      const sink = new KeptSink();
      connection.ask(ASK.spawn, EMPTY, sink);
      for (let change = 0; change < 50; change += 1) {
        const bytes = Buffer.from(honest);
        bytes.writeUInt8(roll(256), roll(bytes.length));
        channel.push(bytes);
      }
      await turns();
      const what =
        sink.lost === null ? `open or done, connection ${connection.end?.type ?? "lives"}` : "lost";
      seen.set(what, (seen.get(what) ?? 0) + 1);
      await connection[Symbol.asyncDispose]();
    }
    expect(
      [...seen.keys()].filter((what) => !/^(lost|open or done, connection (fault|lives))$/.test(what)),
    ).toEqual([]);
  }, 20_000);
});
