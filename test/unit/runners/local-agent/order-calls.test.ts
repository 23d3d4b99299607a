import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ToolEffect } from "../../../../src/domain/tool.js";
import { type OrderedCall, orderCalls } from "../../../../src/runners/local-agent/order-calls.js";

const exec = (): OrderedCall => ({ effect: { kind: "box.exec" }, parameters: { command: "ls" } });
const files = (access: "read" | "write", path: unknown): OrderedCall => ({
  effect: { kind: "box.files", access, pathFields: ["path"] },
  parameters: { path },
});
const search = (path?: string): OrderedCall => ({
  effect: { kind: "box.search", pathFields: ["path"] },
  parameters: path === undefined ? {} : { path },
});
const deliver = (...paths: string[]): OrderedCall => ({
  effect: { kind: "box.export", pathFields: ["paths"] },
  parameters: { paths },
});
const other = (): OrderedCall => ({ effect: { kind: "none" }, parameters: {} });

describe("the order of a batch", () => {
  it.each<[string, readonly [OrderedCall, OrderedCall], boolean]>([
    ["exec, exec", [exec(), exec()], false],
    ["write a, write b", [files("write", "a"), files("write", "b")], false],
    ["read a, read a", [files("read", "a"), files("read", "a")], false],
    ["write a, read a", [files("write", "a"), files("read", "/workspace/./x/../a")], true],
    ["read a, write a", [files("read", "a"), files("write", "a")], true],
    ["write x/a, search x", [files("write", "x/a"), search("x")], true],
    ["search everything, write a", [search(), files("write", "a")], true],
    ["search x, write xa", [search("x"), files("write", "xa")], false],
    ["search x, read x/a", [search("x"), files("read", "x/a")], false],
    ["write a, exec", [files("write", "a"), exec()], true],
    ["read a, exec", [files("read", "a"), exec()], false],
    ["search, exec", [search(), exec()], false],
    ["exec, read a", [exec(), files("read", "a")], true],
    ["exec, search", [exec(), search("x")], true],
    ["exec, export", [exec(), deliver("a")], true],
    ["read a, export b", [files("read", "a"), deliver("b")], true],
    ["export a, export b", [deliver("a"), deliver("b")], true],
    ["export a, read a", [deliver("a", "b"), files("read", "/workspace/b")], true],
    ["export a, read c", [deliver("a", "b"), files("read", "c")], false],
    ["export x/a, search x", [deliver("x/a"), search("x")], true],
    ["export a, exec", [deliver("a"), exec()], false],
    ["anything, a tool outside the box", [exec(), other()], false],
    ["a tool outside the box, export", [other(), deliver("a")], false],
    ["a path that is none, the same", [files("write", "../x"), files("write", "../x")], false],
    ["no path, a path", [files("write", 7), files("write", "a")], false],
  ])("%s", (_, pair, waits) => {
    expect(orderCalls(pair)).toEqual([[], waits ? [0] : []]);
  });

  it("passes over calls that do not run", () => {
    expect(orderCalls([files("write", "a"), null, files("read", "a")])).toEqual([[], [], [0]]);
  });

  it("only ever waits for earlier calls, so that no batch can lock itself", () => {
    const effect = fc.constantFrom<ToolEffect>(
      { kind: "none" },
      { kind: "box.exec" },
      { kind: "box.files", access: "read", pathFields: ["path"] },
      { kind: "box.files", access: "write", pathFields: ["path"] },
      { kind: "box.search", pathFields: ["path"] },
      { kind: "box.export", pathFields: ["path"] },
    );
    const call = fc.record({ effect, parameters: fc.record({ path: fc.constantFrom("a", "a/b", "c") }) });
    fc.assert(
      fc.property(fc.array(fc.option(call), { maxLength: 8 }), (calls) => {
        for (const [position, waits] of orderCalls(calls).entries())
          for (const earlier of waits) expect(earlier).toBeLessThan(position);
      }),
    );
  });
});
