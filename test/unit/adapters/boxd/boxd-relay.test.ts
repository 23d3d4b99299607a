import { beforeEach, describe, expect, it } from "vitest";
import { BoxdConnection } from "../../../../src/adapters/boxd/boxd-connection.js";
import { BoxdRelay, proxyVariables } from "../../../../src/adapters/boxd/boxd-relay.js";
import { FieldWriter } from "../../../../src/adapters/boxd/fields.js";
import { ASK, FIRST_RELAYED_ID, HEAR, SAY } from "../../../../src/adapters/boxd/protocol.js";
import type { BoxEgress, RelayedConnection } from "../../../../src/ports/egress-broker.js";
import { textLike } from "../../../support/text-like.js";
import { ScriptedChannel } from "./scripted-channel.js";

const FOREVER = { signal: new AbortController().signal };
const FIRST = FIRST_RELAYED_ID + 1;
const HELLO = new FieldWriter()
  .u16(1)
  .u32(15)
  .u32(65_536)
  .u32(1_048_576)
  .u32(131_072)
  .u16(64)
  .u16(64)
  .u32(12)
  .u32(30_001)
  .text("1.0.0")
  .finish();
const word = (text: string): Buffer => new FieldWriter().u32(0xff_ff_ff_ff).text(text).finish();

/** Takes what the relay brings. */
class KeptEgress implements BoxEgress {
  readonly maxConnections = 2;
  readonly accepted: RelayedConnection[] = [];
  isDisposed = false;

  accept(connection: RelayedConnection): void {
    this.accepted.push(connection);
  }

  [Symbol.dispose](): void {
    this.isDisposed = true;
  }
}

describe("the relay of a helper", () => {
  let channel: ScriptedChannel;
  let egress: KeptEgress;
  /** Words with which the helper refuses the first ports. */
  let refusals: string[];

  beforeEach(() => {
    channel = new ScriptedChannel();
    egress = new KeptEgress();
    refusals = [];
    channel.onAsked = ({ type, id, payload }) => {
      if (type !== ASK.relay) return;
      const refusal = refusals.shift();
      if (refusal === undefined) {
        channel.say(HEAR.relaying, id, new FieldWriter().u16(payload.readUInt16LE(8) || 40_000).finish());
        return;
      }
      channel.say(HEAR.fault, id, word(refusal));
      channel.say(HEAR.done, id, Buffer.of(3));
    };
  });

  async function open(hello: Buffer = HELLO): Promise<BoxdConnection> {
    channel.say(HEAR.hello, 0, hello);
    return BoxdConnection.open(channel, FOREVER);
  }

  it("listens where programs expect a proxy, and at another port where that one is taken", async () => {
    const connection = await open();
    expect(await BoxdRelay.start(connection, egress, FOREVER)).toBe(3128);
    await connection[Symbol.asyncDispose]();
    expect(egress.isDisposed).toBe(true);

    channel = new ScriptedChannel();
    channel.onAsked = ({ type, id, payload }) => {
      if (type !== ASK.relay) return;
      const port = payload.readUInt16LE(8);
      channel.say(port === 0 ? HEAR.relaying : HEAR.fault, id, port === 0 ? Buffer.of(1, 2) : word("in_use"));
      if (port !== 0) channel.say(HEAR.done, id, Buffer.of(3));
    };
    const again = await open();
    expect(await BoxdRelay.start(again, new KeptEgress(), FOREVER)).toBe(513);
    await again[Symbol.asyncDispose]();
    expect(proxyVariables(513)).toMatchObject({ http_proxy: "http://127.0.0.1:513" });
  });

  it.each([
    [["denied"], /cannot listen \(denied\)/],
    [["in_use", "in_use"], /every port/],
  ])("is refused with the reason after %j", async (words, reason) => {
    refusals = [...words];
    const connection = await open();
    await expect(BoxdRelay.start(connection, egress, FOREVER)).rejects.toMatchObject({
      code: "box.readiness",
      message: textLike(reason),
    });
    expect(egress.isDisposed).toBe(true);
    await connection[Symbol.asyncDispose]();
  });

  it("carries bytes of a connection both ways and the end of each", async () => {
    const connection = await open();
    await BoxdRelay.start(connection, egress, FOREVER);
    channel.say(HEAR.opened, FIRST);
    channel.say(HEAR.received, FIRST, Buffer.from("question"));
    channel.say(HEAR.ended, FIRST);
    await expect.poll(() => egress.accepted.length).toBe(1);
    const [relayed] = egress.accepted;
    const heard: string[] = [];
    for await (const piece of relayed?.bytes ?? []) heard.push(Buffer.from(piece).toString());
    await relayed?.write(Buffer.from("answer"), FOREVER);
    await relayed?.end(FOREVER);

    expect(heard).toEqual(["question"]);
    const said = channel.asked.filter(({ id }) => id === FIRST).map(({ type }) => type);
    expect(said).toEqual([SAY.data, SAY.end]);
    channel.say(HEAR.done, FIRST, Buffer.of(0));
    await relayed?.closed;
    await connection[Symbol.asyncDispose]();
  });

  it("allows one more connection when one has ended", async () => {
    const connection = await open();
    await BoxdRelay.start(connection, egress, FOREVER);
    channel.say(HEAR.opened, FIRST);
    channel.say(HEAR.done, FIRST, Buffer.of(2));

    await expect
      .poll(() =>
        channel.asked.filter(({ type }) => type === SAY.credit).map(({ payload }) => payload.readUInt32LE(1)),
      )
      .toEqual([1]);
    await connection[Symbol.asyncDispose]();
  });

  it("breaks a connection off when told, and its reader hears of it", async () => {
    const connection = await open();
    await BoxdRelay.start(connection, egress, FOREVER);
    channel.say(HEAR.opened, FIRST);
    await expect.poll(() => egress.accepted.length).toBe(1);
    const [relayed] = egress.accepted;
    relayed?.reset();

    expect(channel.asked.at(-1)).toMatchObject({ type: SAY.cancel, id: FIRST });
    await expect(relayed?.bytes[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: "outbound.failed",
    });
    await connection[Symbol.asyncDispose]();
  });

  it.each([
    [
      "opens more connections than it may",
      [HEAR.opened, FIRST, HEAR.opened, FIRST + 1, HEAR.opened, FIRST + 2],
    ],
    ["opens a connection twice", [HEAR.opened, FIRST, HEAR.opened, FIRST]],
    ["opens a connection with an id of ours", [HEAR.opened, 77]],
    ["speaks of a connection that it never opened", [HEAR.received, FIRST]],
    ["ends a connection twice", [HEAR.opened, FIRST, HEAR.ended, FIRST, HEAR.ended, FIRST]],
    ["sends bytes after the end", [HEAR.opened, FIRST, HEAR.ended, FIRST, HEAR.received, FIRST]],
  ] as const)("ends the connection to a helper that %s", async (_what, frames) => {
    const connection = await open();
    await BoxdRelay.start(connection, egress, FOREVER);
    const types = frames.filter((_, index) => index % 2 === 0);
    for (const [index, type] of types.entries()) {
      const known = Object.values(HEAR).find((value) => value === type);
      if (known !== undefined) channel.say(known, frames[index * 2 + 1] ?? 0);
    }

    await expect.poll(() => connection.end?.type).toBe("fault");
    await connection[Symbol.asyncDispose]();
  });

  it("is not asked of a helper that cannot relay", async () => {
    const old = Buffer.from(HELLO);
    old.writeUInt32LE(7, 2);
    const connection = await open(old);

    await expect(BoxdRelay.start(connection, egress, FOREVER)).rejects.toThrow("older than this service");
    expect(channel.asked.some(({ type }) => type === ASK.relay)).toBe(false);
    await connection[Symbol.asyncDispose]();
  });
});
