import { describe, expect, it } from "vitest";
import { findChats } from "../../../src/runs/chats-seen.js";

describe("findChats", () => {
  it("tells each chat once, with its newest run, the one that spoke last first", () => {
    const runs = [
      { chat: "person:42", createdAt: 3000 },
      { chat: "group:a:b", createdAt: 2000 },
      { chat: "person:42", createdAt: 1000 },
    ];
    expect(findChats(runs)).toEqual([
      { launcherType: "person", launcherId: "42", lastRunAt: 3000 },
      { launcherType: "group", launcherId: "a:b", lastRunAt: 2000 },
    ]);
  });

  it("tells at most 100", () => {
    const runs = Array.from({ length: 101 }, (_none, index) => ({ chat: `person:${index}`, createdAt: 0 }));
    expect(findChats(runs).map(({ launcherId }) => launcherId)).toEqual(
      Array.from({ length: 100 }, (_none, index) => String(index)),
    );
  });
});
