import { describe, expect, it } from "vitest";
import { EngineApi } from "../../../../src/adapters/docker/engine-api.js";
import { EngineCalls } from "../../../../src/adapters/docker/engine-calls.js";
import { type Answer, type EngineCall, EngineServer } from "./engine-server.js";

const FOREVER = { signal: new AbortController().signal };
const refused = (status: number, message = "no"): Answer => ({ status, body: { message } });

async function withEngine<Result>(
  answer: (call: EngineCall) => Answer,
  work: (calls: EngineCalls, engine: EngineServer) => Promise<Result>,
): Promise<Result> {
  await using engine = await EngineServer.listen(answer);
  return await work(new EngineCalls(new EngineApi({ socketPath: engine.socketPath })), engine);
}

describe("EngineCalls", () => {
  it("sends names as values, never as parts of the path", async () => {
    const calls = await withEngine(
      () => ({ status: 200, body: [] }),
      async (engine, server) => {
        await engine.listContainers({ label: ["a=b&c"] }, FOREVER);
        await engine.killContainer("a/../b?x=1", FOREVER);
        return server.calls;
      },
    );
    expect(calls.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "GET /containers/json",
      "POST /containers/a%2F..%2Fb%3Fx%3D1/kill",
    ]);
    expect(calls[0]?.query.get("filters")).toBe('{"label":["a=b&c"]}');
    expect(calls[0]?.query.get("all")).toBe("true");
  });

  it.each<[string, number, unknown, (calls: EngineCalls) => Promise<unknown>]>([
    ["a start of what runs", 304, "running", async (calls) => calls.startContainer("c", FOREVER)],
    ["a removal of what is gone", 404, "gone", async (calls) => calls.removeContainer("c", FOREVER)],
    ["a removal that goes on", 409, "busy", async (calls) => calls.removeContainer("c", FOREVER)],
    ["a look at what is gone", 404, null, async (calls) => calls.inspectContainer("c", FOREVER)],
    ["a look at an exec that is gone", 404, null, async (calls) => calls.inspectExec("e", FOREVER)],
    ["an image that is not there", 404, null, async (calls) => calls.imageVolumes("i", FOREVER)],
    ["a volume that is gone", 404, false, async (calls) => calls.hasVolume("v", FOREVER)],
    ["a removal of a volume that is gone", 404, undefined, async (calls) => calls.removeVolume("v", FOREVER)],
    ["a stop of what is gone", 404, undefined, async (calls) => calls.stopContainer("c", FOREVER)],
    ["a stop of what stands", 304, undefined, async (calls) => calls.stopContainer("c", FOREVER)],
    ["a kill of what stands", 409, "stopped", async (calls) => calls.killContainer("c", FOREVER)],
    ["a look at the processes of what stands", 409, null, async (calls) => calls.listProcesses("c", FOREVER)],
  ])("takes %s for no failure", async (...[, status, expected, act]) => {
    expect(await withEngine(() => refused(status), act)).toBe(expected);
  });

  it("fails with a code and a clean line when the engine refuses", async () => {
    const start = withEngine(
      () => refused(500, "OCI runtime create failed:\n/var/lib/docker/x: no space"),
      async (calls) => calls.startContainer("c", FOREVER),
    );
    await expect(start).rejects.toMatchObject({
      code: "box.readiness",
      message: "The engine could not start the container: OCI runtime create failed: <path>: no space.",
      details: { status: 500 },
    });
  });

  it.each([{ State: {} }, [], "text", null])("fails when it cannot read an answer: %j", async (body) => {
    const inspected = withEngine(
      () => ({ status: 200, body }),
      async (calls) => calls.inspectContainer("c", FOREVER),
    );
    await expect(inspected).rejects.toMatchObject({ code: "box.engine_unavailable" });
  });

  it("reads answers with nulls where lists could be", async () => {
    const volumes = await withEngine(
      () => ({ status: 200, body: { Volumes: null } }),
      async (calls) => calls.listVolumes("a=b", FOREVER),
    );
    expect(volumes).toEqual([]);
    const image = await withEngine(
      () => ({ status: 200, body: { Config: null } }),
      async (calls) => calls.imageVolumes("i", FOREVER),
    );
    expect(image).toEqual([]);
  });
});

describe("EngineApi", () => {
  const request = { operation: "answer", method: "GET", path: "/info", limitMs: 50 } as const;

  it("gives up a call at its limit, and lets go of it", async () => {
    await using engine = await EngineServer.listen(() => null);
    const api = new EngineApi({ socketPath: engine.socketPath });
    await expect(api.call(request, FOREVER)).rejects.toMatchObject({
      code: "box.engine_unavailable",
      message: "The engine did not answer within 0.05 s.",
    });
  });

  it("gives up a call with its caller, for the caller's reason", async () => {
    await using engine = await EngineServer.listen(() => null);
    const cancel = new AbortController();
    const reason = new Error("given up");
    const asked = new EngineApi({ socketPath: engine.socketPath }).call(
      { ...request, limitMs: 60_000 },
      cancel,
    );
    setImmediate(() => cancel.abort(reason));
    await expect(asked).rejects.toBe(reason);
  });

  it("says that no engine is there", async () => {
    const api = new EngineApi({ socketPath: "/nonexistent/engine.sock" });
    await expect(api.ask(request, FOREVER)).rejects.toMatchObject({
      code: "box.engine_unavailable",
      message: "The engine could not be reached to answer: ENOENT.",
    });
  });

  it("refuses an engine that gives no stream for a command", async () => {
    await using engine = await EngineServer.listen(() => ({ status: 500, body: { message: "no" } }));
    const api = new EngineApi({ socketPath: engine.socketPath });
    const attached = api.attach({ ...request, method: "POST", limitMs: 5000 }, FOREVER);
    await expect(attached).rejects.toMatchObject({ code: "box.readiness" });
  });
});
