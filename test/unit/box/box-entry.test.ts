import { describe, expect, it } from "vitest";
import { decideBoxState, describeBox } from "../../../src/box/box-entry.js";
import { settingsFingerprint } from "../../../src/box/box-policy.js";
import type { OpenBox } from "../../../src/box/open-boxes.js";
import { aSession, SETTINGS } from "./box-world.js";

const DEFAULTS = { settings: SETTINGS, profile: "default" };
const anOpenBox = (change: Partial<OpenBox> = {}): OpenBox => ({
  tenant: "main",
  container: "c",
  uid: 30_001,
  settings: SETTINGS,
  startedAt: "1",
  ...change,
});

describe("decideBoxState", () => {
  it.each([
    ["none", { container: null, prepared: false }, null, null],
    ["stopped", { container: null, prepared: true }, null, null],
    ["starting", { container: null, prepared: false }, anOpenBox({ container: null }), null],
    ["starting", { container: "new", prepared: true }, anOpenBox({ container: "old" }), null],
    ["ready", { container: "c", prepared: true }, anOpenBox(), "running"],
    ["paused", { container: "c", prepared: true }, anOpenBox(), "paused"],
    ["stopped", { container: "c", prepared: true }, anOpenBox(), "stopped"],
    ["lost", { container: "c", prepared: true }, anOpenBox(), null],
    ["lost", { container: "c", prepared: true }, null, null],
    ["stopped", { container: null, prepared: true }, anOpenBox(), null],
  ] as const)("says %s of %o", (...[state, record, open, container]) => {
    expect(decideBoxState(record, { open, container })).toBe(state);
  });
});

describe("describeBox", () => {
  const idle = { open: null, leases: 0, jobs: 0, idleMs: null, container: null };

  it("shows the settings a box was made with, also after they have changed", () => {
    const open = anOpenBox({ settings: { ...SETTINGS, memoryMb: 64 } });
    const record = aSession({ container: "c", prepared: true, settings: "old", lastUsedAt: 5000 });
    const facts = { open, leases: 2, jobs: 1, idleMs: null, container: "running" as const };
    expect(describeBox(record, facts, DEFAULTS)).toEqual({
      session_id: "ses_a",
      key: "person_42",
      state: "ready",
      engine: "fake",
      created_at: "1970-01-01T00:00:00.000Z",
      last_used_at: "1970-01-01T00:00:05.000Z",
      jobs: 1,
      activity: { leases: 2, idle_sec: null },
      image: "berth-box:slim",
      network: "none",
      profile: "default",
      limits: {
        cpus: 1,
        memory_mb: 64,
        pids_limit: 128,
        workspace_quota_mb: 1024,
        read_only_rootfs: true,
        workspace_mode: "rw",
        exec_timeout_sec: 30,
        exec_max_timeout_sec: 120,
      },
    });
  });

  it("shows what a box would be made with, and for how long it is idle", () => {
    const entry = describeBox(aSession(), { ...idle, idleMs: 61_499 }, DEFAULTS);
    expect(entry).toMatchObject({ state: "none", image: "berth-box:slim", limits: { memory_mb: 512 } });
    expect(entry.activity.idle_sec).toBe(61);
  });

  it("says nothing of settings that are not known, and knows those of the process before by their fingerprint", () => {
    const open = anOpenBox({ settings: null });
    const known = aSession({ container: "c", settings: settingsFingerprint(SETTINGS) });
    expect(describeBox(known, { ...idle, open }, DEFAULTS).limits).toMatchObject({ memory_mb: 512 });
    const unknown = aSession({ container: "c", settings: "other" });
    for (const of of [open, null])
      expect(describeBox(unknown, { ...idle, open: of }, DEFAULTS)).toMatchObject({
        image: null,
        network: null,
        limits: null,
      });
  });
});
