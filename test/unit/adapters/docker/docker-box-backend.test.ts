import { describe, expect, it } from "vitest";
import { z } from "zod";
import { DockerBoxBackend } from "../../../../src/adapters/docker/docker-box-backend.js";
import { ownerLabels } from "../../../../src/adapters/docker/labels.js";
import { SystemClock } from "../../../../src/adapters/system/system-clock.js";
import { resolveBoxSettings } from "../../../../src/box/box-policy.js";
import { CountingIds } from "../../../fakes/counting-ids.js";
import { Gate } from "../../../fakes/gate.js";
import { KeptLogger } from "../../../fakes/kept-logger.js";
import { proves } from "../../../support/proves.js";
import { textLike } from "../../../support/text-like.js";
import { type Answer, EngineServer } from "./engine-server.js";

const createdSchema = z.object({ Labels: z.record(z.string(), z.string()) });
const FOREVER = { signal: new AbortController().signal };
const PLACE = { sessionId: "ses_1", tenant: "main", uid: 30_001, volume: "vol", container: "box" } as const;
const SETTINGS = resolveBoxSettings("default", { image: "berth-box:full" });
const LABELS = ownerLabels({ serviceId: "svc", sessionId: "ses_1", tenant: "main" });
const view = (labels: object, status = "running") => ({
  State: { Status: status, StartedAt: "2026-01-01T00:00:00Z" },
  Config: { Labels: labels },
  HostConfig: { Memory: 1024, PidsLimit: null },
});

/** Answers by `METHOD path`; a list is used up one by one, its last answer stays. */
async function anEngine(answers: Readonly<Record<string, Answer | readonly Answer[]>>) {
  const left = new Map<string, Answer[]>();
  for (const [call, given] of Object.entries(answers)) left.set(call, [given].flat());
  return backendOver(
    await EngineServer.listen(({ method, path }) => {
      const queue = left.get(`${method} ${path}`) ?? [{ status: 404, body: { message: "No such thing" } }];
      return (queue.length > 1 ? queue.shift() : queue[0]) ?? null;
    }),
  );
}

function backendOver(engine: EngineServer) {
  const logger = new KeptLogger();
  const backend = new DockerBoxBackend({
    connection: { socketPath: engine.socketPath },
    serviceId: "svc",
    engine: "local",
    logger,
    clock: new SystemClock(),
    ids: new CountingIds(),
  });
  return {
    backend,
    calls: engine.calls,
    logger,
    trace: () => engine.calls.map(({ method, path }) => `${method} ${path}`),
    [Symbol.asyncDispose]: async () => engine[Symbol.asyncDispose](),
  };
}

const OK: Answer = { status: 200, body: {} };
const CREATED: Answer = { status: 201, body: { Id: "1" } };
const TAKEN: Answer = { status: 409, body: { message: "Conflict. The container name is in use" } };
const HAS_IMAGE = { "GET /images/berth-box%3Afull/json": { status: 200, body: { Config: {} } } };
const HAS_VOLUME = { "GET /volumes/vol": { status: 200, body: { Name: "vol", Labels: LABELS } } };

const preparation = (name: string) => ({
  Names: [`/${name}`],
  State: "exited",
  Created: 0,
  Labels: { ...LABELS, "berth.uid": "30001", "berth.purpose": "preparation" },
});
const labelled = (uid: string) => ({
  Names: ["/x"],
  State: "running",
  Created: 0,
  Labels: { "berth.uid": uid },
});

describe("DockerBoxBackend", () => {
  it("starts a container that somebody else is creating at this moment", async () => {
    await using engine = await anEngine({
      ...HAS_IMAGE,
      ...HAS_VOLUME,
      "GET /containers/box/json": [
        { status: 404, body: { message: "No such container" } },
        { status: 404, body: { message: "No such container" } },
        { status: 200, body: view({ ...LABELS, "berth.uid": "30001" }, "created") },
      ],
      "POST /containers/create": TAKEN,
      "POST /containers/box/start": { status: 304 },
    });
    expect(await engine.backend.start(PLACE, SETTINGS, FOREVER)).toBe(false);
    expect(engine.trace().filter((call) => call.endsWith("/create"))).toHaveLength(2);
  });

  it("wakes a paused box", async () => {
    await using engine = await anEngine({
      ...HAS_IMAGE,
      ...HAS_VOLUME,
      "POST /containers/create": CREATED,
      "POST /containers/box/start": OK,
    });
    await engine.backend.start(PLACE, SETTINGS, FOREVER);
    const created = engine.calls.find(({ path }) => path === "/containers/create");
    const { Labels: labels } = createdSchema.parse(created?.body);
    await using paused = await anEngine({
      "GET /containers/box/json": { status: 200, body: view(labels, "paused") },
      "POST /containers/box/unpause": { status: 204 },
    });
    expect(await paused.backend.start(PLACE, SETTINGS, FOREVER)).toBe(false);
    expect(paused.trace()).toContain("POST /containers/box/unpause");
  });

  it.each([
    ["another service", { "berth.service": "other" }],
    ["another session", { "berth.session": "ses_2" }],
    ["another tenant", { "berth.tenant": "x" }],
    ["another uid", { "berth.uid": "30002" }],
    ["nobody", null],
  ])("never touches a container of %s that has its name", async (_who, change) => {
    const labels = change === null ? {} : { ...LABELS, "berth.uid": "30001", ...change };
    await using engine = await anEngine({ "GET /containers/box/json": { status: 200, body: view(labels) } });
    await expect(engine.backend.start(PLACE, SETTINGS, FOREVER)).rejects.toMatchObject({
      code: "box.conflict",
    });
    expect(engine.trace()).toEqual(["GET /containers/box/json"]);
  });

  it("says that the image is not there, and that trying again does not help", async () => {
    await using engine = await anEngine({});
    await expect(engine.backend.start(PLACE, SETTINGS, FOREVER)).rejects.toMatchObject({
      code: "box.readiness",
      message: 'The image "berth-box:full" is not on the engine.',
      retryable: false,
      hint: textLike(/npm run image/),
    });
  });

  it("refuses an image that declares volumes", async () => {
    await using engine = await anEngine({
      "GET /images/berth-box%3Afull/json": { status: 200, body: { Config: { Volumes: { "/data": {} } } } },
    });
    await expect(engine.backend.start(PLACE, SETTINGS, FOREVER)).rejects.toMatchObject({
      code: "box.validation",
    });
  });

  it("takes over no volume of somebody else", async () => {
    await using engine = await anEngine({
      "POST /volumes/create": { status: 201, body: { Name: "vol", Labels: LABELS } },
      "GET /volumes/vol": { status: 200, body: { Name: "vol", Labels: null } },
    });
    await expect(engine.backend.prepareWorkspace(PLACE, SETTINGS, FOREVER)).rejects.toMatchObject({
      code: "box.conflict",
    });
    expect(engine.trace()).toEqual(["POST /volumes/create", "GET /volumes/vol"]);
  });

  it("removes the preparation container also when it fails", async () => {
    await using engine = await anEngine({
      "POST /volumes/create": { status: 201, body: { Name: "vol", Labels: LABELS } },
      ...HAS_VOLUME,
      "GET /containers/json": { status: 200, body: [] },
      "POST /containers/create": CREATED,
      "POST /containers/vol-prep-00000001/start": { status: 204 },
      "POST /containers/vol-prep-00000001/wait": { status: 200, body: { StatusCode: 3 } },
      "DELETE /containers/vol-prep-00000001": { status: 500, body: { message: "busy" } },
    });
    await expect(engine.backend.prepareWorkspace(PLACE, SETTINGS, FOREVER)).rejects.toMatchObject({
      code: "box.readiness",
      message: "The workspace could not be prepared (exit code 3).",
    });
    expect(engine.trace().at(-1)).toBe("DELETE /containers/vol-prep-00000001");
    expect(engine.logger.lines).toMatchObject([{ level: "warn" }]);
  });

  it("mounts no workspace a second time while its box runs", async () => {
    const running = {
      Names: ["/box"],
      State: "running",
      Created: 0,
      Labels: { ...LABELS, "berth.uid": "30001" },
    };
    await using engine = await anEngine({
      // As an engine answers that has been started anew since the volume was made.
      "POST /volumes/create": { status: 201, body: { Name: "vol", Labels: null } },
      ...HAS_VOLUME,
      "GET /containers/json": { status: 200, body: [running] },
    });
    await engine.backend.prepareWorkspace(PLACE, SETTINGS, FOREVER);
    expect(engine.trace()).toHaveLength(3);
    const other = engine.backend.prepareWorkspace({ ...PLACE, uid: 30_002 }, SETTINGS, FOREVER);
    await expect(other).rejects.toMatchObject({ code: "box.conflict" });
  });

  it("waits until a container is gone that somebody else removes", async () => {
    await using engine = await anEngine({
      "DELETE /containers/box": [
        { status: 409, body: { message: "removal is in progress" } },
        { status: 404, body: {} },
      ],
    });
    await engine.backend.removeContainer("box", FOREVER);
    expect(engine.trace()).toHaveLength(2);
  });

  it("lists a preparation container only when a crash has left it", async () => {
    const isMaking = new Gate();
    let ownName = "";
    await using under = backendOver(
      await EngineServer.listen(({ method, path, query }) => {
        if (path === "/containers/create") {
          ownName = query.get("name") ?? "";
          isMaking.open();
          return null;
        }
        if (path === "/containers/json" && query.get("filters")?.includes("service") === true)
          return { status: 200, body: [preparation(ownName), preparation("left")] };
        if (path === "/containers/json") return { status: 200, body: [] };
        if (method === "GET" && path === "/volumes") return { status: 200, body: { Volumes: null } };
        return { status: 200, body: { Name: "vol", Labels: LABELS } };
      }),
    );
    const stop = new AbortController();
    const preparing = under.backend.prepareWorkspace(PLACE, SETTINGS, { signal: stop.signal });
    preparing.catch(() => undefined);
    await isMaking.opened;
    const { containers } = await under.backend.listOwned(FOREVER);
    expect(containers.map(({ name }) => name)).toEqual(["left"]);
    stop.abort(new Error("stopped"));
    await expect(preparing).rejects.toThrow("stopped");
  });

  it("lists the uids of every service's boxes once", async () => {
    await using engine = await anEngine({
      "GET /containers/json": { status: 200, body: ["30001", "30001", "30002", "root"].map(labelled) },
    });
    expect(await engine.backend.listUids(FOREVER)).toEqual([30_001, 30_002]);
    expect(engine.calls[0]?.query.get("filters")).toBe('{"label":["berth.uid"]}');
  });
});

describe("extra mounts", () => {
  it.each([
    { source: "/etc", target: "/data", readOnly: true },
    { source: "/no/such/place", target: "/data", readOnly: true },
  ])("are refused before the engine hears of the box: $source", async (mount) => {
    proves("BOX-10");
    await using engine = await anEngine({});
    const settings = { ...SETTINGS, extraMounts: [mount] };
    const refused = { code: "box.validation", param: "boxes.extra_mounts" };
    await expect(engine.backend.prepareWorkspace(PLACE, settings, FOREVER)).rejects.toMatchObject(refused);
    await expect(engine.backend.start(PLACE, settings, FOREVER)).rejects.toMatchObject(refused);
    expect(engine.trace()).toEqual([]);
  });
});
