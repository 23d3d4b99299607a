import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { EngineApi } from "../../../../src/adapters/docker/engine-api.js";
import { EngineCalls } from "../../../../src/adapters/docker/engine-calls.js";
import { makeHelperBody } from "../../../../src/adapters/docker/helper-body.js";
import { EngineServer } from "./engine-server.js";

const OPTIONS = { signal: new AbortController().signal };
const BODY = makeHelperBody({
  serviceId: "s",
  image: "i",
  helper: { volume: "v", version: "1" },
  seccomp: "{}",
});

const EXEC = {
  Cmd: [],
  User: "0:0",
  WorkingDir: "/",
  Env: [],
  AttachStdin: true,
  AttachStdout: true,
  AttachStderr: true,
  Tty: false,
};

/** Every method of `EngineCalls`, called once. */
const CALLS: Readonly<Record<string, (calls: EngineCalls) => Promise<unknown>>> = {
  info: async (calls) => calls.info(OPTIONS),
  version: async (calls) => calls.version(OPTIONS),
  imageVolumes: async (calls) => calls.imageVolumes("{name}", OPTIONS),
  imageId: async (calls) => calls.imageId("{name}", OPTIONS),
  createVolume: async (calls) => calls.createVolume("{name}", {}, OPTIONS),
  hasVolume: async (calls) => calls.hasVolume("{name}", OPTIONS),
  findVolume: async (calls) => calls.findVolume("{name}", OPTIONS),
  removeVolume: async (calls) => calls.removeVolume("{name}", OPTIONS),
  listVolumes: async (calls) => calls.listVolumes("l", OPTIONS),
  listIdleVolumes: async (calls) => calls.listIdleVolumes("l", OPTIONS),
  createContainer: async (calls) => calls.createContainer("{name}", BODY, OPTIONS),
  startContainer: async (calls) => calls.startContainer("{name}", OPTIONS),
  pauseContainer: async (calls) => calls.pauseContainer("{name}", OPTIONS),
  unpauseContainer: async (calls) => calls.unpauseContainer("{name}", OPTIONS),
  killContainer: async (calls) => calls.killContainer("{name}", OPTIONS),
  stopContainer: async (calls) => calls.stopContainer("{name}", OPTIONS),
  waitContainer: async (calls) => calls.waitContainer("{name}", 1000, OPTIONS),
  removeContainer: async (calls) => calls.removeContainer("{name}", OPTIONS),
  inspectContainer: async (calls) => calls.inspectContainer("{name}", OPTIONS),
  listProcesses: async (calls) => calls.listProcesses("{name}", OPTIONS),
  listContainers: async (calls) => calls.listContainers({}, OPTIONS),
  createExec: async (calls) => calls.createExec("{name}", EXEC, OPTIONS),
  startExec: async (calls) => calls.startExec("{id}", OPTIONS),
  inspectExec: async (calls) => calls.inspectExec("{id}", OPTIONS),
};

/** What each of them asks of the engine. */
async function calledPaths(): Promise<ReadonlySet<string>> {
  const answer = { status: 200, body: { Id: "x", Name: "v", Labels: {}, Volumes: [], Options: {} } };
  await using engine = await EngineServer.listen(() => answer);
  const calls = new EngineCalls(new EngineApi({ socketPath: engine.socketPath }));
  // Answers that a method cannot read are no matter here: it has asked by then.
  for (const call of Object.values(CALLS)) await call(calls).catch(() => undefined);
  return new Set(engine.calls.map(({ method, path }) => `${method} ${decodeURIComponent(path)}`));
}

describe("docs/guides/socket-proxy.md", () => {
  it("lists exactly the calls that are made to an engine (box §18.6)", async () => {
    const page = readFileSync("docs/guides/socket-proxy.md", "utf8");
    const listed = [...page.matchAll(/^\| `([^`]+)` \|/gmu)].map(([, call = ""]) => call);
    expect([...(await calledPaths())].toSorted()).toEqual(listed.toSorted());
  });

  it("is compared with every call there is", () => {
    const methods = Object.getOwnPropertyNames(EngineCalls.prototype).filter(
      (name) => name !== "constructor",
    );
    expect(methods.toSorted()).toEqual(Object.keys(CALLS).toSorted());
  });
});
