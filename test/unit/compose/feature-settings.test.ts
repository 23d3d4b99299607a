import { describe, expect, it } from "vitest";
import {
  toBoxSettings,
  toEgressSettings,
  toFileLimits,
  toHttpSettings,
  toIdleTtlSec,
  toModelFacts,
  toModelSettings,
  toMountRules,
  toPipelines,
} from "../../../src/compose/feature-settings.js";
import { completeConfig } from "../../../src/config/complete-config.js";
import { settingsSchema } from "../../../src/config/config-schema.js";

const MODEL = { id: "main", base_url: "http://models.example:8080/v1", model: "m", first_chunk_sec: 1.5 };

const configOf = (settings: Readonly<Record<string, unknown>>) =>
  completeConfig(settingsSchema.parse(settings), {}, "/srv").config;

const idleTtl = (boxes: object) => toIdleTtlSec(configOf({ boxes }));

describe("what features take from the configuration", () => {
  it("offers every configured model and the offline one, by id", () => {
    const facts = toModelFacts(configOf({ models: [{ ...MODEL, context_window: 0 }] }).models);
    expect([...facts.keys()]).toEqual(["main", "demo"]);
    expect(facts.get("main")).toMatchObject({ provider: "models.example:8080", contextWindow: null });
  });

  it("offers a model that orders documents as one, without abilities of a chat", () => {
    const facts = toModelFacts(configOf({ models: [{ ...MODEL, type: "rerank" }] }).models);
    expect(facts.get("main")).toMatchObject({ type: "rerank", abilities: [] });
  });

  it("turns seconds of a model into milliseconds", () => {
    const [model] = configOf({ models: [MODEL] }).models;
    expect(model === undefined ? null : toModelSettings(model)).toMatchObject({
      baseUrl: MODEL.base_url,
      firstChunkMs: 1500,
      idleMs: 120_000,
    });
  });

  it("gives the limits of files to both ways", () => {
    const limits = toFileLimits(configOf({ inbound: { url_timeout_sec: 7 }, export: { max_files: 3 } }));
    expect(limits).toMatchObject({
      importLimits: { maxFiles: 20, urlTimeoutMs: 7000 },
      exportLimits: { maxFiles: 3, maxTotalBytes: 52_428_800 },
    });
  });

  it("finds pipelines by their name", () => {
    const { default_pipeline, pipelines } = configOf({});
    const { defaultId, byId } = toPipelines(default_pipeline, pipelines);
    expect(byId.get(defaultId)).toMatchObject({
      runnerId: "plugin:berth/local-agent/default",
      deadlineSec: null,
      exceptionHandling: "show-hint",
    });
    const hiding = configOf({
      pipelines: [{ id: "quiet", "exception-handling": "hide" }],
      default_pipeline: "quiet",
    });
    const quiet = toPipelines(hiding.default_pipeline, hiding.pipelines).byId.get("quiet");
    expect(quiet?.exceptionHandling).toBe("hide");
  });

  it("lets the operator's box settings replace the profile's", () => {
    const settings = toBoxSettings(configOf({ boxes: { memory_mb: 300, workspace_mb: 0 } }));
    expect(settings).toMatchObject({ memoryMb: 300, workspaceQuotaMb: 0, cpus: 1, network: "none" });
  });

  it("gives the broker its rules only where boxes have a network", () => {
    expect(toEgressSettings(configOf({ boxes: { egress: { allow_hosts: ["a.test"] } } }))).toBe(null);
    const egress = {
      allow_hosts: [".a.test"],
      private_hosts: ["db.test:5432"],
      secret_headers: [{ host: "api.a.test", header: "X-Key", value: "12345678" }],
      max_mb_per_hour: 2,
      idle_sec: 3,
    };
    const settings = toEgressSettings(configOf({ boxes: { profile: "network_basic", egress } }));
    expect(settings).toMatchObject({
      secretHeaders: egress.secret_headers,
      limits: { maxConnections: 32, maxBytesPerHour: 2_097_152, connectionMs: 1_800_000, idleMs: 3000 },
    });
    expect(settings?.rules.rule({ host: "x.a.test", port: 443 })).toBe("public");
    expect(settings?.rules.rule({ host: "db.test", port: 5432 })).toBe("private");
    expect(settings?.rules.rule({ host: "b.test", port: 443 })).toBe("host");
  });

  it("hands on what an operator adds to boxes, and where it may come from", () => {
    const config = configOf({
      storage: { directory: "/data/berth" },
      boxes: {
        runtime: "runsc",
        env: { TZ: "UTC" },
        extra_mounts: [{ source: "/srv/a", target: "/a" }],
        allowed_mount_roots: ["/srv"],
      },
    });
    expect(toBoxSettings(config)).toMatchObject({
      runtime: "runsc",
      env: { TZ: "UTC" },
      extraMounts: [{ source: "/srv/a", target: "/a", readOnly: true }],
    });
    const own = ["/data/berth", "/data/berth/files", "/data/berth/berth.db"];
    expect(toMountRules(config, "/run/docker.sock")).toEqual({
      allowedRoots: ["/srv"],
      ownPlaces: ["/run/docker.sock", ...own],
    });
    expect(toMountRules(config, undefined).ownPlaces).toEqual(own);
  });

  it("lets persistent boxes wait 7 days, unless more or never is said", () => {
    expect(idleTtl({})).toBe(300);
    expect(idleTtl({ persistent: true })).toBe(604_800);
    expect(idleTtl({ persistent: true, idle_ttl_sec: 1_000_000 })).toBe(1_000_000);
    expect(idleTtl({ persistent: true, idle_ttl_sec: 0 })).toBe(0);
  });

  it("gives the surface its limits, its keys and the version", () => {
    const server = { public_url: "https://b.example", keys: [{ key: "secret", tenant: "main" }] };
    expect(toHttpSettings(configOf({ server, limits: { event_streams: 5 } }), "1.2.3")).toMatchObject({
      version: "1.2.3",
      publicUrl: "https://b.example",
      keys: [{ key: "secret", tenant: "main", role: "client" }],
      eventStreams: 5,
      inbound: { maxFiles: 20 },
    });
  });
});
