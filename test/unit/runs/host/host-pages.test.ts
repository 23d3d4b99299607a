import { describe, expect, it } from "vitest";
import { pageLimit, readCursor, toPage } from "../../../../src/runs/host/host-pages.js";

const items = (...sequences: number[]) => sequences.map((sequence) => ({ sequence }));

describe("pageLimit", () => {
  it.each([
    [undefined, 50],
    [0, 1],
    [-3, 1],
    [7.9, 7],
    [100, 100],
    [101, 100],
  ])("reads %s as %i", (limit, wanted) => {
    expect(pageLimit(limit)).toBe(wanted);
  });
});

describe("readCursor", () => {
  it("takes the cursors of pages, and none", () => {
    expect(readCursor("17")).toBe(17);
    expect(readCursor(undefined)).toBeNull();
  });

  it.each(["", "x", "-1", "1e3", "1".repeat(16)])("refuses %o", (cursor) => {
    expect(() => readCursor(cursor)).toThrow(expect.objectContaining({ code: "host.invalid_argument" }));
  });
});

describe("toPage", () => {
  it("gives cursors of both ends, and says that there is more", () => {
    expect(toPage(items(5, 4, 3), 2)).toEqual({
      items: items(5, 4),
      next_cursor: "4",
      prev_cursor: "5",
      has_more: true,
    });
    expect(toPage(items(3), 2)).toMatchObject({ next_cursor: "3", has_more: false });
    expect(toPage(items(), 2)).toEqual({ items: [], next_cursor: null, prev_cursor: null, has_more: false });
  });
});
