import { describe, expect, it } from "vitest";
import { LocalRunEvents } from "../../../../src/adapters/system/local-run-events.js";
import { announceFile } from "../../../../src/runs/host/announce-file.js";
import { RunRecorder } from "../../../../src/runs/record-run.js";
import { aFile, aRun } from "../../../support/records.js";
import { aRunWorld } from "../../../support/run-world.js";

describe("announceFile", () => {
  it("writes one event and counts the file by kind and size", async () => {
    await using world = aRunWorld();
    const run = aRun();
    await world.stores.runs.create(run);
    const events = new LocalRunEvents();
    const recorder = new RunRecorder({ ...world.host, ...world.stores, events }, run);
    await announceFile({ metrics: world.metrics, recorder }, aFile());
    expect(await world.eventsOf("run_1")).toMatchObject([
      { type: "delivery.created", data: { id: "file_1", name: "chart.png", bytes: 1_234 } },
    ]);
    expect(world.metrics.files).toEqual([{ kind: "image", sizeBytes: 1_234 }]);
  });
});
