import { describe, expect, it } from "vitest";
import type { BytePipe } from "../../../../src/adapters/mcp/byte-pipe.js";
import { PipeTransport } from "../../../../src/adapters/mcp/pipe-transport.js";

/** A program that prints the pieces and ends. */
function printing(pieces: readonly string[]): BytePipe {
  return {
    output: (async function* () {
      for (const piece of pieces) yield Buffer.from(piece);
    })(),
    write: async () => undefined,
    lastWords: () => "",
    [Symbol.asyncDispose]: async () => undefined,
  };
}

async function received(pieces: readonly string[]): Promise<{ messages: unknown[]; errors: string[] }> {
  const messages: unknown[] = [];
  const errors: string[] = [];
  const transport = new PipeTransport(printing(pieces));
  await new Promise<void>((resolve) => {
    Object.assign(transport, {
      onmessage: (message: unknown) => void messages.push(message),
      onerror: ({ message }: Error) => void errors.push(message),
      onclose: resolve,
    });
    void transport.start();
  });
  return { messages, errors };
}

const MESSAGE = { jsonrpc: "2.0", method: "notifications/x" };
const LINE = JSON.stringify(MESSAGE);

describe("PipeTransport", () => {
  it("takes messages however they are cut, and passes over lines that are none", async () => {
    const pieces = ["hello\n\n{oops\n{}\n", LINE.slice(0, 9), `${LINE.slice(9)}\r\n${LINE}\n`];
    expect(await received(pieces)).toEqual({ messages: [MESSAGE, MESSAGE], errors: [] });
  });

  it.each([
    ["is too long", "x".repeat(9 * 1024 * 1024), "longer than 8388608 bytes"],
    ["holds too many values", `{"a":[${"{},".repeat(2_000_000)}1]}\n`, "200000 values"],
    ["is nested too deeply", `{"a":${"[".repeat(4_000_000)}\n`, "128 levels"],
  ])("ends with a line that %s, without reading it", async (_what, line, says) => {
    const { messages, errors } = await received([`${LINE}\n`, line, `${LINE}\n`]);
    expect(messages).toEqual([MESSAGE]);
    expect(errors).toEqual([expect.stringContaining(says)]);
  });

  it("lets the service go on while a program prints lines without end", async () => {
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    await received(Array.from({ length: 3 }, () => "{\n".repeat(30_000)));
    clearInterval(timer);
    expect(turns).toBeGreaterThan(2);
  });
});
