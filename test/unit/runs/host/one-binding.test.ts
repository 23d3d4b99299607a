import { describe, expect, it } from "vitest";
import type { BoxLease } from "../../../../src/box/box-lease.js";
import type { SessionId } from "../../../../src/domain/ids.js";
import { OneBinding } from "../../../../src/runs/host/one-binding.js";
import { Gate } from "../../../fakes/gate.js";
import { aRunWorld, NEVER } from "../../../support/run-world.js";

const OWN = "ses_own";

/** A lease on a box of its own. */
async function aLease(): Promise<BoxLease> {
  const { boxes } = aRunWorld();
  const { session } = await boxes.acquire("main", { reuse_key: "k" }, { signal: NEVER });
  return boxes.bind(session, "run_1", { signal: NEVER });
}

describe("OneBinding", () => {
  it("starts one bind for all that ask the same, by name or not", async () => {
    const lease = await aLease();
    const binding = new OneBinding();
    const asked: unknown[] = [];
    const bind = (box: SessionId | undefined) =>
      binding.bind({
        box,
        own: OWN,
        start: async (which) => {
          asked.push(which);
          return lease;
        },
      });
    expect(await Promise.all([bind(undefined), bind(OWN), bind(undefined)])).toEqual([lease, lease, lease]);
    expect(await bind(lease.session.id)).toBe(lease);
    expect(asked).toEqual([null]);
    expect(await binding.settled()).toBe(lease);
  });

  it("lets the next one in when the one on its way fails, and holds nothing of it", async () => {
    const lease = await aLease();
    const binding = new OneBinding();
    const gate = new Gate();
    const first = binding.bind({
      box: "ses_other",
      own: OWN,
      start: async () => {
        await gate.opened;
        throw new Error("no engine");
      },
    });
    const second = binding.bind({ box: undefined, own: OWN, start: async () => lease });
    const left = binding.settled();
    gate.open();
    await expect(first).rejects.toThrow("no engine");
    expect(await left).toBeNull();
    expect(await second).toBe(lease);
  });

  it("refuses another box than the bound one", async () => {
    const lease = await aLease();
    const binding = new OneBinding();
    expect(await binding.settled()).toBeNull();
    const start = async () => lease;
    await binding.bind({ box: undefined, own: OWN, start });
    await expect(binding.bind({ box: "ses_other", own: OWN, start })).rejects.toMatchObject({
      code: "box.bind_conflict",
      details: { bound: lease.session.id },
    });
  });
});
