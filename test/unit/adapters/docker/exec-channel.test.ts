import { Duplex, PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { ExecChannel } from "../../../../src/adapters/docker/exec-channel.js";

const FOREVER = { signal: new AbortController().signal };

/** Output as the engine frames it. */
function framed(stream: 1 | 2, text: string): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt8(stream, 0);
  header.writeUInt32BE(text.length, 4);
  return Buffer.concat([header, Buffer.from(text)]);
}

function channelOver() {
  const incoming = new PassThrough();
  const outgoing = new PassThrough({ highWaterMark: 4 });
  const stream = Duplex.from({ readable: incoming, writable: outgoing });
  return { channel: new ExecChannel(stream), incoming, outgoing };
}

describe("ExecChannel", () => {
  it("gives what the far end says, keeps its complaints apart and bounded, and ends with it", async () => {
    const { channel, incoming } = channelOver();
    incoming.write(framed(1, "one"));
    incoming.write(framed(2, "x".repeat(5000)));
    incoming.end(framed(1, "two"));
    const said: string[] = [];
    for await (const bytes of channel.bytes) said.push(Buffer.from(bytes).toString());
    expect([said.join(""), channel.diagnostics.length, channel.hasEnded]).toEqual(["onetwo", 4096, true]);
  });

  it("writes nothing once it is closed, and may be closed twice", async () => {
    const { channel } = channelOver();
    await channel.close();
    await channel.close();
    expect(channel.hasEnded).toBe(true);
    await expect(channel.write(Buffer.from("x"), FOREVER)).rejects.toThrow("has ended");
  });
});
