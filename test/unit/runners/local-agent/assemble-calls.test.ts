import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallPiece } from "../../../../src/ports/chat-model.js";
import { CallAssembler } from "../../../../src/runners/local-agent/assemble-calls.js";

function assemble(pieces: readonly CallPiece[]) {
  const assembler = new CallAssembler();
  for (const piece of pieces) assembler.push(piece);
  return assembler.calls.map(({ id, name, argumentsText }) => ({ id, name, argumentsText }));
}

const call = (id: string | null, name: string, argumentsText: string) => ({ id, name, argumentsText });

describe("joining pieces", () => {
  it.each<{ rule: string; pieces: CallPiece[]; calls: unknown[] }>([
    {
      rule: "a piece without id follows its index",
      pieces: [
        { index: 0, name: "exec" },
        { index: 0, arguments: '{"a":' },
        { index: 0, arguments: "1}" },
      ],
      calls: [call(null, "exec", '{"a":1}')],
    },
    {
      rule: "whole calls with own ids and no index are calls of their own",
      pieces: [
        { id: "c1", name: "exec", arguments: '{"a":1}' },
        { id: "c2", name: "read", arguments: '{"b":2}' },
      ],
      calls: [call("c1", "exec", '{"a":1}'), call("c2", "read", '{"b":2}')],
    },
    {
      rule: "different ids are different calls, though all have index 0",
      pieces: ["c1", "c2", "c3"].map((id) => ({ index: 0, id, name: "exec", arguments: "{}" })),
      calls: [call("c1", "exec", "{}"), call("c2", "exec", "{}"), call("c3", "exec", "{}")],
    },
    {
      rule: "different indexes are different calls, though they share an id",
      pieces: [
        { index: 0, id: "c", name: "exec", arguments: "{}" },
        { index: 1, id: "c", name: "exec", arguments: "{}" },
      ],
      calls: [call("c", "exec", "{}"), call("c", "exec", "{}")],
    },
    {
      rule: "id, name and arguments may come one by one, at an index that is not 0",
      pieces: [
        { index: 1, id: "c1" },
        { index: 1, name: "exec" },
        { index: 1, arguments: "{}" },
      ],
      calls: [call("c1", "exec", "{}")],
    },
    {
      rule: "a later id joins the call that had only an index",
      pieces: [
        { index: 0, name: "exec" },
        { index: 0, id: "c1", arguments: "{}" },
      ],
      calls: [call("c1", "exec", "{}")],
    },
    {
      rule: "a name begins a new call after complete arguments",
      pieces: [
        { name: "exec", arguments: '{"a":1}' },
        { name: "exec", arguments: '{"a":2}' },
      ],
      calls: [call(null, "exec", '{"a":1}'), call(null, "exec", '{"a":2}')],
    },
    {
      rule: "a name that is repeated on every piece begins none",
      pieces: [
        { id: "c1", name: "exec", arguments: "" },
        { id: "c1", name: "exec", arguments: '{"a":' },
        { id: "c1", name: "exec", arguments: "1}" },
      ],
      calls: [call("c1", "exec", '{"a":1}')],
    },
    {
      rule: "empty texts count as missing",
      pieces: [
        { index: 0, id: "c1", name: "exec" },
        { index: 0, id: "", name: "", arguments: "{}" },
      ],
      calls: [call("c1", "exec", "{}")],
    },
    {
      rule: "what never gets a name is no call",
      pieces: [
        { index: 0, id: "c1", arguments: "{}" },
        { index: 1, name: "exec" },
      ],
      calls: [call(null, "exec", "")],
    },
    {
      rule: "arguments may come as an object",
      pieces: [{ name: "exec", arguments: { a: "é" } }],
      calls: [call(null, "exec", '{"a":"é"}')],
    },
  ])("$rule", ({ pieces, calls }) => {
    expect(assemble(pieces)).toEqual(calls);
  });

  it("keeps unknown fields, the later one of a name", () => {
    const assembler = new CallAssembler();
    assembler.push({ index: 0, name: "exec", extra: { a: 1, b: 1 } });
    assembler.push({ index: 0, extra: { b: 2 } });
    expect(assembler.calls[0]?.extra).toEqual({ a: 1, b: 2 });
  });

  it("never mixes arguments of calls that are told apart by id or index, however they are cut and woven", () => {
    const texts = fc.array(
      fc.jsonValue().map((value) => JSON.stringify({ value })),
      { minLength: 1, maxLength: 4 },
    );
    fc.assert(
      fc.property(
        texts,
        fc.record({ withIds: fc.boolean(), withIndexes: fc.boolean(), step: fc.integer({ min: 1, max: 7 }) }),
        (list, { withIds, withIndexes, step }) => {
          const marks = (i: number) => ({
            ...(withIds || !withIndexes ? { id: `c${i}` } : {}),
            ...(withIndexes ? { index: i } : {}),
          });
          const rows = list.map((text, i) => [
            { ...marks(i), name: "exec", arguments: "" },
            ...Array.from({ length: Math.ceil(text.length / step) }, (_, part) => ({
              ...marks(i),
              arguments: text.slice(part * step, (part + 1) * step),
            })),
          ]);
          const longest = Math.max(...rows.map((row) => row.length));
          const woven = Array.from({ length: longest }, (_, at) =>
            rows.flatMap((row) => row[at] ?? []),
          ).flat();
          expect(assemble(woven).map(({ argumentsText }) => argumentsText)).toEqual(list);
        },
      ),
    );
  });
});
