import { describe, expect, it } from "vitest";
import { SessionStarts } from "../../../src/box/session-starts.js";
import { abortReason } from "../../../src/lib/abort-reason.js";
import { ENDLESS } from "./box-world.js";

const untilAborted = async ({ signal }: { readonly signal: AbortSignal }): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(abortReason(signal)));
  });

describe("SessionStarts", () => {
  it("counts what is under way and gives its outcome", async () => {
    const starts = new SessionStarts();
    const counts: number[] = [];
    const value = starts.run("ses_a", async () => counts.push(starts.count), ENDLESS);
    expect(await value).toBe(1);
    expect(counts).toEqual([1]);
    expect(starts.count).toBe(0);
    const failure = new Error("no");
    await expect(starts.run("ses_a", async () => Promise.reject(failure), ENDLESS)).rejects.toBe(failure);
    expect(starts.count).toBe(0);
  });

  it("takes back what is started in a session that ends, and waits for it", async () => {
    const starts = new SessionStarts();
    const [one, other] = [
      starts.run("ses_a", untilAborted, ENDLESS),
      starts.run("ses_b", untilAborted, ENDLESS),
    ];
    const ends = Promise.allSettled([one, other]);
    await starts.cancel("ses_a");
    await expect(one).rejects.toMatchObject({ code: "box.process_not_found" });
    expect(starts.count).toBe(1);
    await starts.cancel(null);
    expect((await ends).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(starts.count).toBe(0);
  });
});
