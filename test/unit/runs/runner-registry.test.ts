import { describe, expect, it } from "vitest";
import { ServiceError } from "../../../src/domain/errors.js";
import type { Runner } from "../../../src/ports/runner.js";
import { RunnerRegistry, type RunnerScope } from "../../../src/runs/runner-registry.js";
import { KeptLogger } from "../../fakes/kept-logger.js";
import { aManifest, ScriptedPackages } from "../../fakes/scripted-packages.js";
import { ScriptedRunner } from "../../fakes/scripted-runner.js";
import { aDescriptor, LOCAL_AGENT } from "../../support/builders.js";
import { proves } from "../../support/proves.js";

const CALL = { signal: new AbortController().signal };
const EVERYONE: RunnerScope = { tenant: "main", allowedPackages: null };
const localAgent = new ScriptedRunner({ descriptor: aDescriptor() });
const ECHO = "plugin:alice/echo/default";
const POET = "plugin:bob/poet/default";

function twoPackages(): ScriptedPackages {
  return new ScriptedPackages([
    { id: "alice/echo", manifests: [aManifest()] },
    { id: "bob/poet", manifests: [aManifest()] },
  ]);
}

function registryOf(packages: ScriptedPackages | null, logger = new KeptLogger()): RunnerRegistry {
  return new RunnerRegistry({ bundled: [localAgent], packages, logger });
}

const idsOf = (runners: readonly Runner[]): readonly string[] =>
  runners.map(({ descriptor }) => descriptor.id);

describe("RunnerRegistry: what ships", () => {
  const other = new ScriptedRunner({ descriptor: aDescriptor({ name: "other" }) });
  const registry = new RunnerRegistry({
    bundled: [localAgent, other],
    packages: null,
    logger: new KeptLogger(),
  });

  it("finds a runner by its canonical id", async () => {
    expect(await registry.get("plugin:berth/other/default", EVERYONE, CALL)).toBe(other);
  });

  it.each([LOCAL_AGENT, "builtin:local-agent", "local-agent", "plugin:langbot-team/LocalAgent/default"])(
    "finds the local agent under %s",
    async (id) => {
      expect(await registry.get(id, EVERYONE, CALL)).toBe(localAgent);
    },
  );

  it.each(["plugin:berth/missing/default", "no id at all", "", "constructor"])(
    "answers that the runner is not found, with the text in it: %o",
    async (id) => {
      await expect(registry.get(id, EVERYONE, CALL)).rejects.toMatchObject({
        code: "runner.not_found",
        message: `The configured runner is missing: there is no runner "${id}".`,
        details: { runner_id: id },
      });
    },
  );

  it("names the runners there are", async () => {
    await expect(registry.get("x", EVERYONE, CALL)).rejects.toMatchObject({
      hint: `Use one of: ${LOCAL_AGENT}, plugin:berth/other/default.`,
    });
  });

  it("lists what ships where packages are switched off", async () => {
    expect(idsOf(await registry.listUncached(EVERYONE, CALL))).toEqual([
      LOCAL_AGENT,
      "plugin:berth/other/default",
    ]);
  });

  it("lets a bot that may use no package use what ships", async () => {
    const scope = { tenant: "main", allowedPackages: [] };
    expect(await registry.get(LOCAL_AGENT, scope, CALL)).toBe(localAgent);
  });
});

describe("RunnerRegistry: discovery", () => {
  it("takes the good entries and says of the others why not", async () => {
    proves("REG-05");
    const logger = new KeptLogger();
    const packages = new ScriptedPackages([
      {
        id: "alice/echo",
        manifests: [
          aManifest(),
          aManifest({ name: "second" }),
          aManifest({ kind: "Tool" }),
          { kind: "AgentRunner", metadata: { label: { en: "No name" } }, spec: {} },
        ],
      },
    ]);
    const registry = new RunnerRegistry({ bundled: [], packages, logger });
    expect(idsOf(await registry.list(EVERYONE, CALL))).toEqual([ECHO, "plugin:alice/echo/second"]);
    expect(logger.lines.map(({ level, fields }) => [level, fields.package])).toEqual([
      ["warn", "alice/echo"],
      ["warn", "alice/echo"],
    ]);
  });

  it("refuses a manifest with a capability or an operation that nobody knows, and that one only", async () => {
    proves("REG-06");
    const packages = new ScriptedPackages([
      {
        id: "alice/echo",
        manifests: [
          aManifest({ name: "flies", capabilities: { flying: true } }),
          aManifest({ name: "half", capabilities: { streaming: "yes" } }),
          aManifest({ name: "deletes", permissions: { models: ["delete"] } }),
          aManifest({ name: "group", permissions: { secrets: ["read"] } }),
          aManifest({ name: "reserved", permissions: { platform_api: ["send"] } }),
          aManifest(),
        ],
      },
    ]);
    const registry = new RunnerRegistry({ bundled: [], packages, logger: new KeptLogger() });
    expect(idsOf(await registry.list(EVERYONE, CALL))).toEqual([ECHO]);
  });

  it("gives each runner of a package its own schema and permissions", async () => {
    proves("REG-07");
    const config = [{ name: "tone", type: "string", label: { en: "Tone" } }];
    const packages = new ScriptedPackages([
      {
        id: "alice/echo",
        manifests: [
          aManifest({ name: "one", config, permissions: { models: ["invoke"] } }),
          aManifest({ name: "two", permissions: { history: ["page"] } }),
        ],
      },
    ]);
    const registry = new RunnerRegistry({ bundled: [], packages, logger: new KeptLogger() });
    const [one, two] = await registry.list(EVERYONE, CALL);
    expect(one?.descriptor).toMatchObject({
      id: "plugin:alice/echo/one",
      source: "plugin",
      plugin_version: "1.0.0",
      config_schema: config,
      permissions: { models: ["invoke"], history: [] },
    });
    expect(two?.descriptor).toMatchObject({
      id: "plugin:alice/echo/two",
      config_schema: [],
      permissions: { models: [], history: ["page"] },
    });
  });

  it("goes on with what ships while the packages cannot be listed", async () => {
    const logger = new KeptLogger();
    const packages = twoPackages();
    packages.failure = new Error("The packages are gone.");
    const registry = registryOf(packages, logger);
    expect(idsOf(await registry.list(EVERYONE, CALL))).toEqual([LOCAL_AGENT]);
    expect(await registry.get(LOCAL_AGENT, EVERYONE, CALL)).toBe(localAgent);
    await expect(registry.get(ECHO, EVERYONE, CALL)).rejects.toMatchObject({ code: "runner.not_found" });
    expect(logger.lines.every(({ level }) => level === "warn")).toBe(true);
    packages.failure = null;
    expect(idsOf(await registry.list(EVERYONE, CALL))).toEqual([LOCAL_AGENT, ECHO, POET]);
  });
});

describe("RunnerRegistry: the cache", () => {
  it("answers the second list from the cache", async () => {
    proves("REG-08");
    const packages = twoPackages();
    const registry = registryOf(packages);
    const first = await registry.list(EVERYONE, CALL);
    const second = await registry.list(EVERYONE, CALL);
    expect(second).toHaveLength(first.length);
    expect(first).toHaveLength(3);
    expect(packages.lists).toBe(1);
  });

  it("keeps the whole set, whatever the first reader may use", async () => {
    proves("REG-09");
    const registry = registryOf(twoPackages());
    const some = await registry.list({ tenant: "main", allowedPackages: ["bob/poet"] }, CALL);
    const all = await registry.list(EVERYONE, CALL);
    expect(idsOf(some)).toEqual([LOCAL_AGENT, POET]);
    expect(idsOf(all)).toEqual([LOCAL_AGENT, ECHO, POET]);
  });

  it("asks anew after a package was installed, removed or started again", async () => {
    const packages = twoPackages();
    const registry = registryOf(packages);
    await registry.list(EVERYONE, CALL);
    packages.packages = [{ id: "bob/poet", manifests: [aManifest()] }];
    packages.generation += 1;
    expect(idsOf(await registry.list(EVERYONE, CALL))).toEqual([LOCAL_AGENT, POET]);
    await expect(registry.get(ECHO, EVERYONE, CALL)).rejects.toMatchObject({ code: "runner.not_found" });
  });

  it("trusts no cache of a generation that ended while it was read", async () => {
    const packages = twoPackages();
    const registry = registryOf(packages);
    const listing = registry.list(EVERYONE, CALL);
    packages.generation += 1;
    await listing;
    await registry.list(EVERYONE, CALL);
    expect(packages.lists).toBe(2);
  });

  it("does not trust an empty cache", async () => {
    const packages = new ScriptedPackages([]);
    const registry = registryOf(packages);
    await registry.list(EVERYONE, CALL);
    packages.packages = [{ id: "alice/echo", manifests: [aManifest()] }];
    expect(idsOf(await registry.list(EVERYONE, CALL))).toEqual([LOCAL_AGENT, ECHO]);
  });

  it("keeps the sets of two tenants apart", async () => {
    const packages = twoPackages();
    const registry = registryOf(packages);
    await registry.list(EVERYONE, CALL);
    await registry.list({ ...EVERYONE, tenant: "other" }, CALL);
    expect(packages.lists).toBe(2);
  });

  it("asks the packages once for all who ask at the same time", async () => {
    const packages = twoPackages();
    const registry = registryOf(packages);
    await Promise.all(Array.from({ length: 5 }, () => registry.get(ECHO, EVERYONE, CALL)));
    expect(packages.lists).toBe(1);
  });

  it("reads around the cache where a reader wants what is there at this moment", async () => {
    const packages = twoPackages();
    const registry = registryOf(packages);
    await registry.list(EVERYONE, CALL);
    packages.packages = [];
    expect(idsOf(await registry.listUncached(EVERYONE, CALL))).toEqual([LOCAL_AGENT]);
  });
});

describe("RunnerRegistry: one runner", () => {
  it("refreshes once for an id that is not there, then says so", async () => {
    proves("REG-10");
    const packages = twoPackages();
    const registry = registryOf(packages);
    await registry.list(EVERYONE, CALL);
    const missing = "plugin:carol/none/default";
    await expect(registry.get(missing, EVERYONE, CALL)).rejects.toMatchObject({
      code: "runner.not_found",
      message: `The configured runner is missing: there is no runner "${missing}".`,
      details: { runner_id: missing },
    });
    expect(packages.lists).toBe(2);
  });

  it("finds a runner that came since the list was read", async () => {
    const packages = twoPackages();
    const registry = registryOf(packages);
    await registry.list(EVERYONE, CALL);
    packages.packages = [...packages.packages, { id: "carol/new", manifests: [aManifest()] }];
    const found = await registry.get("plugin:carol/new/default", EVERYONE, CALL);
    expect(found.descriptor.plugin_author).toBe("carol");
  });

  it("gives the same object for each binding that selects it", async () => {
    const registry = registryOf(twoPackages());
    expect(await registry.get(ECHO, EVERYONE, CALL)).toBe(await registry.get(ECHO, EVERYONE, CALL));
  });

  it("refuses a runner whose package the bot may not use, and does not call it missing", async () => {
    proves("REG-11");
    const registry = registryOf(twoPackages());
    const scope = { tenant: "main", allowedPackages: ["bob/poet"] };
    const refused = registry.get(ECHO, scope, CALL);
    await expect(refused).rejects.toMatchObject({
      code: "runner.not_authorized",
      message: `The runner "${ECHO}" may not be used here: its package alice/echo is not allowed for this bot.`,
      details: { runner_id: ECHO, allowed_packages: ["bob/poet"] },
    });
    expect(await registry.get(POET, scope, CALL)).toBeDefined();
  });

  it("leaves a caller that gives up with its own reason", async () => {
    const registry = registryOf(twoPackages());
    const reason = new ServiceError("cancelled", "Stopped by the test.");
    await expect(registry.get(ECHO, EVERYONE, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});
