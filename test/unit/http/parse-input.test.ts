import { describe, expect, it } from "vitest";
import { parseInput } from "../../../src/http/parse-input.js";
import {
  createRunSchema,
  idempotencyHeaderSchema,
  listRunsQuery,
  runFormSchema,
} from "../../../src/http/schemas/run-bodies.js";
import { textLike } from "../../support/text-like.js";

const HELLO = { chat: { launcher_id: "42" }, input: { text: "Hello" } };

describe("parseInput", () => {
  it.each([
    [{ ...HELLO, colour: "red" }, "colour", /unknown field: colour/],
    [{ ...HELLO, a: 1, b: 2 }, "a", /unknown fields: a, b/],
    [{ ...HELLO, chat: { launcher_id: "1", colour: 1 } }, "chat.colour", /unknown field: chat\.colour/],
    [{ input: {} }, "chat", /^The field chat is missing: expected object\.$/],
    [{ ...HELLO, input: undefined, inputs: {} }, "inputs", /unknown field: inputs/],
    [{ ...HELLO, chat: { launcher_id: 42 } }, "chat.launcher_id", /expected string/],
    [{ ...HELLO, chat: { launcher_id: "" } }, "chat.launcher_id", /chat\.launcher_id/],
    [
      { ...HELLO, chat: { launcher_id: "1", launcher_type: "two words" } },
      "chat.launcher_type",
      /a short word/,
    ],
    [{ ...HELLO, stream: "yes" }, "stream", /expected boolean/],
    [{ ...HELLO, input: { contents: [{ type: "video_url", url: "x" }] } }, "input.contents.0.type", /type/],
    [{ ...HELLO, input: { contents: [{ type: "text" }] } }, "input.contents.0.text", /expected string/],
    [
      { ...HELLO, input: { contents: [{ type: "file_id", file_id: "f", url: "x" }] } },
      "input.contents.0.url",
      /unknown/,
    ],
    [{ ...HELLO, on_disconnect: "stop" }, "on_disconnect", /continue/],
    [[], undefined, /The body is not valid/],
    ["text", undefined, /expected object/],
    [null, undefined, /The body/],
  ])("names the field of %j", (value, param, message) => {
    expect(() => parseInput(createRunSchema, value, "body")).toThrow(
      expect.objectContaining({
        code: "request.invalid",
        param,
        message: textLike(message),
      }),
    );
  });

  it("never repeats a value, however long", () => {
    const secret = "canary".repeat(100);
    expect(() => parseInput(createRunSchema, { ...HELLO, on_disconnect: secret }, "body")).toThrow(
      expect.not.objectContaining({ message: textLike(/canary/) }),
    );
  });

  it("calls a field what its place calls it, and says no more than it knows of a value that is no number", () => {
    expect(() => parseInput(listRunsQuery, { limit: "x" }, "query")).toThrow(
      "The query parameter limit is not valid: expected number.",
    );
    expect(() => parseInput(idempotencyHeaderSchema, { "idempotency-key": "" }, "headers")).toThrow(
      "The header idempotency-key is not valid: expected string to have >=1 characters.",
    );
    expect(() => parseInput(runFormSchema, {}, "form")).toThrow(
      "The part request is missing: expected string.",
    );
  });

  it("bounds what it says of unknown fields", () => {
    const fields = Object.fromEntries(
      Array.from({ length: 500 }, (_, i) => [`field ${i} ${"x".repeat(300)}`, 1]),
    );
    expect(() => parseInput(createRunSchema, { ...HELLO, ...fields }, "body")).toThrow(/^.{0,600}$/);
  });

  it("keeps a field that is called __proto__ from becoming one", () => {
    const body: unknown = JSON.parse(
      '{"chat":{"launcher_id":"1"},"input":{},"variables":{"__proto__":{"admin":true}}}',
    );
    const { variables } = parseInput(createRunSchema, body, "body");
    expect(Object.getPrototypeOf(variables)).toBe(Object.prototype);
    expect("admin" in variables).toBe(false);
  });

  it("reads numbers of a query within their bounds", () => {
    expect(parseInput(listRunsQuery, { limit: "7" }, "query").limit).toBe(7);
    expect(parseInput(listRunsQuery, {}, "query").limit).toBe(20);
    for (const limit of ["0", "101", "x", "1.5", "", ["1", "2"]]) {
      expect(() => parseInput(listRunsQuery, { limit }, "query")).toThrow(/limit/);
    }
  });
});
