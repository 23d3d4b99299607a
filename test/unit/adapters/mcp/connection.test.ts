import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { McpConnection } from "../../../../src/adapters/mcp/connection.js";
import { opened } from "../../../support/opened.js";

const { signal } = new AbortController();
const requestSchema = z.object({
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
  params: z.record(z.string(), z.unknown()).optional(),
});

type Answer = (method: string, params: Readonly<Record<string, unknown>>) => Record<string, unknown> | null;

const HELLO = {
  protocolVersion: "2025-06-18",
  capabilities: { tools: {} },
  serverInfo: { name: "s", version: "1" },
};

/** A server that answers as the test says; null = it fails. */
async function connect(answer: Answer, hello: Record<string, unknown> = HELLO) {
  const [client, server] = InMemoryTransport.createLinkedPair();
  const onmessage = (message: unknown): void => {
    const { id, method = "", params = {} } = requestSchema.parse(message);
    if (id === undefined) return;
    const result = method === "initialize" ? hello : answer(method, params);
    const error = { code: -32_603, message: "broken" };
    void server.send(result === null ? { jsonrpc: "2.0", id, error } : { jsonrpc: "2.0", id, result });
  };
  await Object.assign(server, { onmessage }).start();
  const connection = await McpConnection.open(client, { version: "1.2.3" }, { signal });
  return opened({ connection, server }, () => connection.close());
}

const aTool = (name: string) => ({ name, description: "Finds.", inputSchema: { type: "object" } });

describe("McpConnection", () => {
  it("reads every page of the list, once", async () => {
    let lists = 0;
    await using of = await connect((_method, { cursor }) => {
      lists += 1;
      return cursor === undefined ? { tools: [aTool("a")], nextCursor: "2" } : { tools: [aTool("b")] };
    });
    const names = async () => (await of.it.connection.tools({ signal })).map(({ name }) => name);
    expect(await Promise.all([names(), names()])).toEqual([
      ["a", "b"],
      ["a", "b"],
    ]);
    expect(await names()).toEqual(["a", "b"]);
    expect(lists).toBe(2);
  });

  it("does not turn in circles over a cursor that stays, nor over pages without end", async () => {
    let lists = 0;
    await using same = await connect(() => {
      lists += 1;
      return { tools: [], nextCursor: "same" };
    });
    expect(await same.it.connection.tools({ signal })).toEqual([]);
    await using endless = await connect(() => {
      lists += 1;
      return { tools: [], nextCursor: String(lists) };
    });
    expect(await endless.it.connection.tools({ signal })).toEqual([]);
    expect(lists).toBe(22);
  });

  it("takes what it can read of a list, under names that models take", async () => {
    const called: unknown[] = [];
    await using of = await connect((method, params) => {
      if (method === "tools/call") called.push(params);
      const tools = [{ name: "page.open", description: 7, inputSchema: "none" }, { title: "no name" }, 7];
      return method === "tools/list" ? { tools } : { content: [] };
    });
    expect(await of.it.connection.tools({ signal })).toEqual([
      { name: "page_open", description: "", parameters: { type: "object", properties: {} } },
    ]);
    await of.it.connection.call("page_open", { a: 1 }, { signal });
    expect(called).toEqual([{ name: "page.open", arguments: { a: 1 } }]);
  });

  it("asks again for a list that failed", async () => {
    let lists = 0;
    await using of = await connect(() => {
      lists += 1;
      return lists === 1 ? null : { tools: [aTool("a")] };
    });
    await expect(of.it.connection.tools({ signal })).rejects.toThrow("broken");
    expect(await of.it.connection.tools({ signal })).toHaveLength(1);
  });

  it("asks a server without tools for none", async () => {
    await using of = await connect(() => null, { ...HELLO, capabilities: { resources: {} } });
    expect(await of.it.connection.tools({ signal })).toEqual([]);
    expect(of.it.connection.hasResources).toBe(true);
  });

  it("knows when the other side is gone", async () => {
    await using of = await connect(() => null);
    expect(of.it.connection.isClosed).toBe(false);
    await of.it.server.close();
    expect(of.it.connection.isClosed).toBe(true);
  });

  it("refuses a server that speaks another protocol", async () => {
    await expect(connect(() => null, { ...HELLO, protocolVersion: "1999-01-01" })).rejects.toThrow(
      "not supported",
    );
  });
});
