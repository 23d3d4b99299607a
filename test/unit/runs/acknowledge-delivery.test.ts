import { describe, expect, it } from "vitest";
import { CALLER } from "../../support/builders.js";
import { aFile, aRun } from "../../support/records.js";
import { aRunWorld, type RunWorld } from "../../support/run-world.js";

/** A completed run with a delivery, and the delivery of another run. */
async function deliver({ stores }: RunWorld): Promise<void> {
  await stores.runs.create(aRun({ state: "completed" }));
  await stores.files.register([aFile(), aFile({ id: "file_2", runId: "run_2" })]);
}

describe("acknowledgeDelivery", () => {
  it("keeps that the receiver got a file", async () => {
    await using world = aRunWorld();
    await deliver(world);
    const run = await world.serve.acknowledge(
      CALLER,
      { run: "run_1", file: "file_1" },
      { state: "sent", detail: null },
    );
    expect(run).toMatchObject({ status: "completed", deliveries: [{ id: "file_1", state: "acked" }] });
  });

  it("fails the run where a file did not reach the user; nothing is sent again", async () => {
    await using world = aRunWorld();
    await deliver(world);
    const report = { state: "failed", detail: "too large for the platform" } as const;
    const run = await world.serve.acknowledge(CALLER, { run: "run_1", file: "file_1" }, report);
    expect(run).toMatchObject({
      status: "failed",
      deliveries: [{ id: "file_1", state: "failed" }],
      error: { code: "delivery.failed", details: { detail: "too large for the platform" } },
    });
    expect(await world.stores.runs.listOpen()).toEqual([]);
  });

  it.each(["file_2", "file_9"] as const)("knows no delivery of another run: %s", async (fileId) => {
    await using world = aRunWorld();
    await deliver(world);
    await expect(
      world.serve.acknowledge(CALLER, { run: "run_1", file: fileId }, { state: "sent", detail: null }),
    ).rejects.toMatchObject({ code: "delivery.not_found" });
  });
});
