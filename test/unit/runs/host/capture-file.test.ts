import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { LocalRunEvents } from "../../../../src/adapters/system/local-run-events.js";
import { ServiceError } from "../../../../src/domain/errors.js";
import { SecretMask } from "../../../../src/lib/secret-mask.js";
import type { CaptureRequest } from "../../../../src/ports/run-host.js";
import { captureFile } from "../../../../src/runs/host/capture-file.js";
import { RunGate } from "../../../../src/runs/host/run-gate.js";
import { RunRecorder } from "../../../../src/runs/record-run.js";
import { FakeOutboundFetch } from "../../../fakes/fake-outbound-fetch.js";
import { completed, ScriptedRunner } from "../../../fakes/scripted-runner.js";
import { aDescriptor } from "../../../support/builders.js";
import { aFile, aRun } from "../../../support/records.js";
import { aRunWorld, NEVER, type RunWorld } from "../../../support/run-world.js";

const URL_OF_CHART = "https://files.example/out/chart.png";
const CHART = Buffer.from("a picture");
const CALL = { signal: NEVER };

interface Given {
  readonly pages?: ConstructorParameters<typeof FakeOutboundFetch>[0];
  readonly isPermitted?: boolean;
  readonly limits?: Partial<RunWorld["host"]["box"]["exportLimits"]>;
}

async function aSetting({ pages = { [URL_OF_CHART]: CHART }, isPermitted = true, limits = {} }: Given = {}) {
  const outbound = new FakeOutboundFetch(pages);
  const world = aRunWorld({ outbound });
  const run = aRun();
  await world.stores.runs.create(run);
  const stop = new AbortController();
  const gate = new RunGate({ runId: run.id, signal: stop.signal, logger: world.logger });
  const shared = {
    ...world.stores,
    clock: world.clock,
    events: new LocalRunEvents(),
    mask: new SecretMask([]),
  };
  const recorder = new RunRecorder(shared, run);
  const deps = { ...world.host.box, exportLimits: { ...world.host.box.exportLimits, ...limits } };
  const capture = (request: Partial<CaptureRequest> = {}) =>
    captureFile(
      deps,
      { run, gate, recorder, isPermitted },
      { request: { url: URL_OF_CHART, ...request }, options: CALL },
    );
  const files = () => world.stores.files.listByRun("main", "run_1");
  return { world, outbound, stop, gate, capture, files, deps };
}

async function textOf(world: RunWorld, sha256: string): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of world.stores.blobs.read(sha256, null, CALL)) parts.push(part);
  return Buffer.concat(parts).toString();
}

describe("captureFile", () => {
  it("keeps bytes, sha256 and type, and registers a delivery of the run", async () => {
    const { world, capture, files, outbound } = await aSetting();
    const id = await capture();
    const sha256 = createHash("sha256").update(CHART).digest("hex");
    expect(await files()).toEqual([
      aFile({
        id,
        purpose: "assistants_output",
        name: "chart.png",
        kind: "image",
        mimeType: "image/png",
        sizeBytes: CHART.byteLength,
        sha256,
        sourcePath: null,
        createdAt: world.clock.now(),
      }),
    ]);
    expect(await textOf(world, sha256)).toBe("a picture");
    const events = await world.eventsOf("run_1");
    expect(events.map(({ type, data }) => [type, data["id"], data["state"]])).toEqual([
      ["delivery.created", id, "pending"],
    ]);
    expect(outbound.openFiles).toBe(0);
  });

  it("goes by the name and the kind that the service gave", async () => {
    const { capture, files } = await aSetting();
    await capture({ name: "../up/Q3 plan.wav\u202E", kind: "file" });
    await capture({ name: "voice.wav" });
    await capture({ name: "voice.wav" });
    expect((await files()).map(({ name, kind }) => [name, kind])).toEqual([
      ["Q3 plan.wav", "file"],
      ["voice.wav", "voice"],
      ["voice (2).wav", "voice"],
    ]);
  });

  it("finds a name where neither runner nor server has one", async () => {
    const { capture, files } = await aSetting({ pages: { "https://files.example/": CHART } });
    await capture({ url: "https://files.example/", kind: "image" });
    expect((await files()).map(({ name, kind }) => [name, kind])).toEqual([["image_0.png", "image"]]);
  });

  it("refuses a runner without the permission, and fetches nothing", async () => {
    const { world, capture, outbound } = await aSetting({ isPermitted: false });
    await expect(capture()).rejects.toMatchObject({
      code: "host.unauthorized",
      message: "This run is not authorized for capture_file.",
    });
    expect(outbound.opened).toEqual([]);
    expect(world.logger.lines).toHaveLength(1);
  });

  it.each([
    new ServiceError("outbound.refused", "The address is not public."),
    new ServiceError("outbound.failed", "The server answered 404."),
  ])("says why a file cannot be had: $message", async (refusal) => {
    const { capture, files } = await aSetting({ pages: { [URL_OF_CHART]: refusal } });
    await expect(capture()).rejects.toBe(refusal);
    expect(await files()).toEqual([]);
  });

  it("stops at the limit of one file, the lower of those for files in and files out", async () => {
    const { capture, files, outbound } = await aSetting({ limits: { maxFileBytes: 8 } });
    await expect(capture()).rejects.toMatchObject({ code: "box.too_large" });
    expect(await files()).toEqual([]);
    expect(outbound.openFiles).toBe(0);
  });

  it("counts what the run has delivered before, in files and in bytes", async () => {
    const few = await aSetting({ limits: { maxFiles: 1 } });
    await few.capture();
    await expect(few.capture()).rejects.toMatchObject({
      code: "box.too_large",
      message: "The run has delivered 1 files; the limit is 1 files per run.",
    });
    const small = await aSetting({ limits: { maxTotalBytes: 17 } });
    await small.capture();
    await expect(small.capture()).rejects.toMatchObject({
      code: "box.too_large",
      message:
        "The file has 9 bytes; with 9 bytes delivered earlier in this run that is more than the limit of 17 bytes per run.",
    });
    expect(await small.files()).toHaveLength(1);
  });

  it("keeps to the limits when several are captured at once", async () => {
    const { capture, files } = await aSetting({ limits: { maxFiles: 2 } });
    const outcomes = await Promise.allSettled([capture(), capture(), capture(), capture()]);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
    expect((await files()).map(({ name }) => name)).toEqual(["chart.png", "chart (2).png"]);
  });

  it("registers nothing once the run was cancelled, even while it waits for its turn", async () => {
    const { capture, files, stop, deps } = await aSetting();
    const turn = await deps.exportLocks.acquire("run_1", CALL);
    const waiting = capture();
    stop.abort(new ServiceError("cancelled", "The run was cancelled."));
    turn[Symbol.dispose]();
    await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
    await expect(capture()).rejects.toMatchObject({ code: "cancelled" });
    expect(await files()).toEqual([]);
  });

  it("is a call of the host: its file may go with a message of the run", async () => {
    const runner = new ScriptedRunner({
      descriptor: aDescriptor({ permissions: { files: ["capture"] } }),
      play: async function* (context, host, options) {
        const id = await host.captureFile({ url: URL_OF_CHART }, options);
        const message = { role: "assistant", content: "Here it is." };
        yield { type: "message.completed", run_id: context.run_id, data: { message, file_ids: [id] } };
        yield { ...completed(), run_id: context.run_id };
      },
    });
    await using world = aRunWorld({ runner, outbound: new FakeOutboundFetch({ [URL_OF_CHART]: CHART }) });
    expect(await world.execute(aRun())).toMatchObject({ state: "completed", warnings: [] });
    expect((await world.eventsOf("run_1")).at(-1)?.data["deliveries"]).toMatchObject([{ name: "chart.png" }]);
  });
});
