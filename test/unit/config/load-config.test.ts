import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Config } from "../../../src/config/config-schema.js";
import { type ConfigSource, loadConfig } from "../../../src/config/load-config.js";
import { textLike } from "../../support/text-like.js";

const KEY = "k".repeat(32);
let directory = "";

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "berth config "));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

function load(
  yaml: string | null,
  environment: ConfigSource["environment"] = {},
  more: Partial<ConfigSource> = {},
) {
  if (yaml !== null) writeFileSync(join(directory, "berth.yaml"), yaml);
  return loadConfig({ environment, workingDirectory: directory, ...more });
}

function good(yaml: string | null, environment: ConfigSource["environment"] = {}): Config {
  const loaded = load(yaml, environment);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  return loaded.config;
}

function faultPaths(yaml: string, environment: ConfigSource["environment"] = {}): string[] {
  const loaded = load(yaml, environment);
  return loaded.ok ? [] : loaded.faults.map(({ path }) => path);
}

describe("loadConfig with a name that a group does not take", () => {
  it("says what names are for, and nothing of the value", () => {
    expect(load("boxes: {env: {BERTH_X: secret, OK: yes}}")).toMatchObject({
      faults: [
        {
          path: "boxes.env.BERTH_X",
          found: "a name that cannot be used",
          allowed:
            "a group of texts by names of letters, digits and underscores; those that begin with BERTH_ are taken",
        },
      ],
    });
  });
});

describe("loadConfig with models that order documents", () => {
  const order = '{id: order, type: rerank, base_url: "http://m.example/v1", model: r}';
  const main = '{id: main, base_url: "http://m.example/v1", model: m}';
  const config = { "plugin:berth/local-agent/default": { model: { primary: "main" } } };

  it("answers by the first model that answers messages", () => {
    const { models, pipelines } = good(`models: [${order}, ${main}]`);
    expect(models.map(({ id, type }) => [id, type])).toEqual([
      ["order", "rerank"],
      ["main", "llm"],
    ]);
    expect(pipelines).toMatchObject([{ runner_config: config }]);
  });

  it("says plainly that the demo model answers where there is no other", () => {
    const loaded = load(`models: [${order}]`);
    expect(loaded.ok && loaded.notices.join(" ")).toMatch(/offline demo model/);
  });
});

describe("loadConfig without a file", () => {
  it("keeps everything under ./data, listens on loopback and answers with the demo model", () => {
    const config = good(null);
    expect(config.storage).toEqual({
      directory: join(directory, "data"),
      database: { kind: "sqlite", path: join(directory, "data/berth.db") },
      files: join(directory, "data/files"),
      retention_days: 30,
    });
    expect(config.server).toMatchObject({ host: "127.0.0.1", port: 8787, keys: [] });
    expect(config.models).toEqual([]);
    expect(config.pipelines).toMatchObject([
      {
        id: "default",
        runner: { id: "plugin:berth/local-agent/default" },
        runner_config: {
          "plugin:berth/local-agent/default": {
            model: { primary: "demo" },
            "box-session-id-template": "{launcher_type}_{launcher_id}",
          },
        },
      },
    ]);
  });

  it("says plainly that the demo model answers", () => {
    const loaded = load(null);
    expect(loaded).toMatchObject({ ok: true, file: null });
    expect(loaded.ok && loaded.notices.join(" ")).toMatch(/offline demo model/);
  });

  it("takes the model from OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL", () => {
    const config = good(null, {
      OPENAI_API_KEY: "sk-1",
      OPENAI_BASE_URL: "http://10.0.0.5:8000/v1",
      OPENAI_MODEL: "qwen3",
    });
    expect(config.models).toMatchObject([
      { id: "main", base_url: "http://10.0.0.5:8000/v1", api_key: "sk-1", model: "qwen3" },
    ]);
    expect(JSON.stringify(config.pipelines)).toContain('"primary":"main"');
  });

  it.each(["api.openai.com/v1", "http://", "https://a b"])(
    "tells an OPENAI_BASE_URL that is no address: %s",
    (address) => {
      expect(load(null, { OPENAI_API_KEY: "sk-1", OPENAI_BASE_URL: address })).toMatchObject({
        ok: false,
        faults: [
          {
            path: "models[0].base_url",
            found: `text of ${address.length} characters from OPENAI_BASE_URL`,
            allowed: "an http or https address",
          },
        ],
      });
    },
  );

  it.each(["/root/berth data", "with space/data", "ünïcode"])("works with BERTH_DATA_DIR=%s", (place) => {
    const { storage } = good(null, { BERTH_DATA_DIR: place });
    expect(storage.database.path.endsWith(`${place}/berth.db`)).toBe(true);
    expect(storage.files.endsWith(`${place}/files`)).toBe(true);
  });
});

describe("loadConfig with a file", () => {
  it("takes the example of the HTTP contract", () => {
    const config = good(EXAMPLE, {
      BERTH_API_KEY: KEY,
      OPENAI_API_KEY: "sk-1",
      DOCKER_HOST: "tcp://engine:2375",
    });
    expect(config.server.keys).toEqual([
      { key: KEY, tenant: "main", role: "admin", trust_identity_headers: false },
    ]);
    expect(config.boxes.engines).toEqual([{ name: "local", host: "tcp://engine:2375" }]);
    expect(config.storage.database.path).toBe(join(directory, "data/berth.db"));
  });

  it("takes a binding with the keys of older versions, and a pipeline without a runner", () => {
    const { pipelines } = good(
      "pipelines: [{id: default, ai: {runner: {runner: local-agent, expire-time: x}, local-agent: {max-round: 3}}}, {id: fresh}]",
    );
    expect(pipelines).toMatchObject([{ id: "default" }, { id: "fresh" }]);
  });

  it("takes a file named by BERTH_CONFIG, and refuses to start when it is not there", () => {
    mkdirSync(join(directory, "etc"));
    writeFileSync(join(directory, "etc/b.yaml"), "server: {port: 1}");
    expect(good(null, { BERTH_CONFIG: "etc/b.yaml" }).server.port).toBe(1);
    expect(load(null, { BERTH_CONFIG: "none.yaml" })).toMatchObject({
      ok: false,
      faults: [{ found: "no file of that name" }],
    });
  });

  it("lets the environment override the file", () => {
    const config = good(
      "server: {host: localhost, port: 1}\nlog: {level: error}\nstorage: {files: /elsewhere}",
      {
        BERTH_HOST: "::1",
        BERTH_PORT: "9000",
        BERTH_DATA_DIR: "/srv/berth",
        BERTH_LOG_LEVEL: "debug",
        BERTH_API_KEY: "short",
      },
    );
    expect(config.server).toMatchObject({ host: "::1", port: 9000 });
    expect(config.server.keys).toMatchObject([{ key: "short", tenant: "main", role: "admin" }]);
    expect(config.storage.files).toBe("/srv/berth/files");
    expect(config.log.level).toBe("debug");
  });

  it("reads a text from the environment as a number or a boolean where the setting wants one, never a key", () => {
    const digits = "1".repeat(32);
    const config = good(
      'server: {port: "${P}", keys: [{key: "${K}", tenant: a}]}\nboxes: {enabled: "${B}", cpus: "${C:-0.5}"}',
      { P: "99", K: digits, B: "false" },
    );
    expect(config.server.port).toBe(99);
    expect(config.server.keys[0]?.key).toBe(digits);
    expect(config.boxes).toMatchObject({ enabled: false, cpus: 0.5 });
  });

  it("takes an empty file as one without settings", () => {
    expect(good("# nothing\n").server.port).toBe(8787);
  });
});

/** Paths of the faults. */
function told(text: string): readonly string[] {
  const loaded = load(text);
  return loaded.ok ? [] : loaded.faults.map(({ path }) => path);
}

describe("faults of a configuration", () => {
  it("come in one list, each with its path, the kind of value and what is allowed", () => {
    const loaded = load(
      [
        "server: {port: eighty, keys: [{key: 'a b', tenant: x}], colour: red}",
        "models: [{id: demo, base_url: ftp://x, model: m}]",
        "runs: {deadline_sec: 4000}",
        "boxes: {max_boxes: 5001, profile: huge}",
        "pipelines: [{id: a, runner: {id: 'no such/thing'}}, {id: b, runner: {id: local-agent}}]",
        "sever: {}",
        "export: {max_file_bytes: 10, max_total_bytes: 5}",
        "log: {level: '${LEVEL}'}",
      ].join("\n"),
      { BERTH_PORT: "" },
    );
    expect(loaded).toEqual({
      ok: false,
      file: join(directory, "berth.yaml"),
      faults: [
        {
          path: "log.level",
          found: "a reference to the variable LEVEL, which is not set",
          allowed: "a variable that is set, or a default as in ${LEVEL:-default}",
        },
        { path: "server.port", found: "text of 6 characters", allowed: "a whole number from 0 to 65535" },
        {
          path: "server.keys[0].key",
          found: "text of 3 characters",
          allowed: "1 to 512 printable ASCII characters without spaces",
        },
        { path: "server.colour", found: "an unknown setting", allowed: "host, port, public_url, keys" },
        {
          path: "models[0].id",
          found: "text of 4 characters",
          allowed:
            '1 to 64 letters, digits, dots, underscores and dashes; "demo" is taken by the built-in demo model',
        },
        { path: "models[0].base_url", found: "text of 7 characters", allowed: "an http or https address" },
        {
          path: "boxes.profile",
          found: "text of 4 characters",
          allowed: "one of default, offline_readonly, network_basic, network_extended",
        },
        { path: "boxes.max_boxes", found: "the number 5001", allowed: "a whole number from 1 to 5000" },
        {
          path: "pipelines[0].runner.id",
          found: "text of 13 characters",
          allowed: textLike(/^plugin:<author>/),
        },
        { path: "runs.deadline_sec", found: "the number 4000", allowed: "a whole number from 1 to 3600" },
        { path: "sever", found: "an unknown setting", allowed: textLike(/^server, limits/) },
        {
          path: "export.max_total_bytes",
          found: "the number 5, below export.max_file_bytes",
          allowed: "at least 10",
        },
      ],
    });
  });

  it("tell what lies between sound settings, also beside a faulty one of their section", () => {
    expect(told("server: {port: eighty, host: 0.0.0.0}")).toEqual(["server.port", "server.host"]);
    expect(told("server: {prot: 80, host: 0.0.0.0}")).toEqual(["server.prot", "server.host"]);
    expect(told("server: {host: 0.0.0.0, keys: [{key: 'a b', tenant: x}]}")).toEqual(["server.keys[0].key"]);
    expect(told("export: {max_files: -1, max_file_bytes: 10, max_total_bytes: 5}")).toEqual([
      "export.max_files",
      "export.max_total_bytes",
    ]);
    expect(told("boxes: {cpus: none, extra_mounts: [{source: relative, target: /data}]}")).toEqual([
      "boxes.cpus",
      "boxes.extra_mounts[0].source",
    ]);
    expect(told("boxes: 5\nexport: {max_file_bytes: 10, max_total_bytes: 5}")).toEqual([
      "boxes",
      "export.max_total_bytes",
    ]);
    expect(told("- a list")).toEqual([""]);
  });

  it("never show a value that may be a secret", () => {
    const loaded = load("server: {keys: [{key: 'canary secret', tenant: x, role: canary}]}\nmodels: canary", {
      BERTH_PORT: "canary",
    });
    expect(JSON.stringify(loaded)).not.toContain("canary");
  });

  it.each([
    ["a key is missing off loopback", "server: {host: 0.0.0.0}", "server.host"],
    [
      "a key is short off loopback",
      "server: {host: 0.0.0.0, keys: [{key: short, tenant: a}]}",
      "server.keys[0].key",
    ],
    [
      "a key stands twice",
      "server: {keys: [{key: k, tenant: a}, {key: k, tenant: b}]}",
      "server.keys[1].key",
    ],
    ["the default pipeline is none", "default_pipeline: other", "default_pipeline"],
    [
      "a pipeline stands twice",
      "pipelines: [{id: default, runner: {id: local-agent}, runner_config: {local-agent: {}}}, {id: default, runner: {id: local-agent}, runner_config: {local-agent: {}}}]",
      "pipelines[1].id",
    ],
    ["a bot stands twice", "bots: [{id: web}, {id: web}]", "bots[1].id"],
    [
      "a binding stands twice",
      "pipelines: [{id: default, ai: {}, runner: {id: local-agent}, runner_config: {local-agent: {}}}]",
      "pipelines[0].ai",
    ],
    [
      "an old binding selects a runner without config",
      "pipelines: [{id: default, ai: {runner: {runner: local-agent}}}]",
      "pipelines[0].ai.runner_config",
    ],
    [
      "a switch that widens access is a text",
      "pipelines: [{id: default, runner: {id: local-agent}, runner_config: {local-agent: {enable-all-tools: 'true'}}}]",
      "pipelines[0].runner_config.local-agent",
    ],
    [
      "the selected runner has no config",
      "pipelines: [{id: default, runner: {id: local-agent}, runner_config: {other: {}}}]",
      "pipelines[0].runner_config",
    ],
    [
      "a fallback is no model",
      "pipelines: [{id: default, runner: {id: local-agent}, runner_config: {local-agent: {model: {primary: demo, fallbacks: [gone]}}}}]",
      "pipelines[0].runner_config.local-agent.model.fallbacks[0]",
    ],
    [
      "a model stands twice",
      "models: [{id: a, base_url: http://x, model: m}, {id: a, base_url: http://x, model: m}]",
      "models[1].id",
    ],
    [
      "a host of the egress list is none",
      "boxes: {egress: {allow_hosts: ['http://a.test/']}}",
      "boxes.egress.allow_hosts[0]",
    ],
    [
      "a private host is a whole domain",
      "boxes: {egress: {private_hosts: ['.corp.test']}}",
      "boxes.egress.private_hosts[0]",
    ],
    [
      "a host has an impossible port",
      "boxes: {egress: {allow_hosts: ['a.test:70000']}}",
      "boxes.egress.allow_hosts[0]",
    ],
    [
      "a secret header would frame the request",
      "boxes: {egress: {secret_headers: [{host: a.test, header: Host, value: '12345678'}]}}",
      "boxes.egress.secret_headers[0].header",
    ],
    ["there are two engines", "boxes: {engines: [{name: a}, {name: b}]}", "boxes.engines"],
    ["a database is of another kind", "storage: {database: 'postgres://x'}", "storage.database"],
    [
      "an unknown setting stands deep inside",
      "boxes: {engines: [{name: a, hst: b}]}",
      "boxes.engines[0].hst",
    ],
    [
      "a webhook has a short secret",
      'webhooks: [{url: "https://r.example/", secret: short}]',
      "webhooks[0].secret",
    ],
  ])("are told when %s", (_case, yaml, path) => {
    expect(faultPaths(yaml)).toEqual([path]);
  });

  it.each([
    ["knowledge_bases: [{id: a}]", "knowledge_bases"],
    ["tenants: {main: {max_boxes: 3}}", "tenants.main.max_boxes"],
    ["skills: {directory: /srv/skills}", "skills.directory"],
  ])("say of %s that this version does not serve it", (yaml, path) => {
    expect(load(yaml)).toMatchObject({
      ok: false,
      faults: [{ path, allowed: textLike(/does not serve it$/) }],
    });
  });

  it("name the variable that a bad value came from", () => {
    expect(load(null, { BERTH_PORT: "99999" })).toMatchObject({
      faults: [{ path: "server.port", found: "the number 99999 from BERTH_PORT" }],
    });
  });

  it.each([
    "nonsense",
    "ssh://host",
    "npipe:////./pipe/x",
    "unix://relative",
    "tcp://",
    "tcp://user@host:1",
    "tcp://host/x",
  ])("name DOCKER_HOST and its forms when it is %s", (host) => {
    expect(load(null, { DOCKER_HOST: host })).toMatchObject({
      faults: [
        {
          path: "boxes.engines[0].host",
          found: `text of ${host.length} characters from DOCKER_HOST`,
          allowed: textLike(/unix:\/\/\/.*tcp:\/\/host:port/),
        },
      ],
    });
  });

  it.each(["unix:///run/my docker.sock", "tcp://engine:2375", "https://[::1]:2376", "http://10.0.0.1"])(
    "are none for the engine's address %s",
    (host) => {
      expect(good(null, { DOCKER_HOST: host }).boxes.engines).toMatchObject([{ host }]);
    },
  );

  it("say that an engine over the network has no TLS where the environment wants it", () => {
    const tls = { DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: "/certs" };
    expect(load(null, { ...tls, DOCKER_HOST: "tcp://engine:2376" })).toMatchObject({
      faults: [{ path: "boxes.engines[0].host", found: textLike(/DOCKER_TLS_VERIFY/) }],
    });
    expect(load(null, { ...tls, DOCKER_HOST: "unix:///run/docker.sock" }).ok).toBe(true);
    expect(load(null, { DOCKER_TLS_VERIFY: "", DOCKER_HOST: "tcp://engine:2375" }).ok).toBe(true);
  });

  it("name a tool that is none, with all that there are", () => {
    const yaml =
      "pipelines: [{id: default, runner: {id: local-agent}, runner_config: {local-agent: {}}, policy: {allowed_tool_names: [exec, exce]}}]";
    expect(load(yaml, {}, { toolNames: ["exec", "read"] })).toMatchObject({
      faults: [
        {
          path: "pipelines[0].policy.allowed_tool_names[1]",
          found: '"exce", which is no tool',
          allowed: "exec, read; of others <source>:<id>/<tool>, as mcp:docs/search",
        },
      ],
    });
    expect(load(yaml).ok).toBe(true);
  });

  it("hold what the runner says about the config of its pipeline", () => {
    const yaml = "pipelines: [{id: default, runner: {id: local-agent}, runner_config: {local-agent: {}}}]";
    expect(load(yaml, {}, { findRunnerFaults: () => ["timeout must be positive."] })).toMatchObject({
      ok: false,
      faults: [{ path: "pipelines[0]", allowed: "timeout must be positive" }],
    });
  });

  it.each(["- a\n- b", "just text", "42"])("are told when the file is no group of settings: %j", (yaml) => {
    expect(faultPaths(yaml)).toEqual([""]);
  });

  it.each(["server: {port: 1", "a: 1\na: 2", "a: *nowhere", "a: !!js/function x"])(
    "name the line of a mistake in the YAML: %j",
    (yaml) => {
      const loaded = load(yaml);
      expect(loaded.ok ? [] : loaded.faults).toContainEqual(
        expect.objectContaining({ found: textLike(/^a mistake in line \d|^an alias/) }),
      );
    },
  );
});

const EXAMPLE = `
server:   {host: 127.0.0.1, port: 8787, public_url: null, keys: [{key: "\${BERTH_API_KEY}", tenant: main, role: admin}]}
storage:  {database: "sqlite:./data/berth.db", files: "./data/files", retention_days: 30}
models:
  - {id: main, base_url: "https://api.openai.com/v1", api_key: "\${OPENAI_API_KEY}", model: gpt-5-mini, abilities: [func_call, vision, reasoning],
     context_window: 400000, max_output_tokens: 32000, tokenizer: o200k_base, extra_args: {}}
boxes:    {image: berth-box:full, profile: default, idle_ttl_sec: 300, max_boxes: 64, warm_pool: 1, workspace_mb: 1024, workspace_ttl_days: 14, engines: [{name: local, host: "\${DOCKER_HOST:-}"}]}
pipelines:
  - id: default
    runner: {id: "plugin:berth/local-agent/default"}
    runner_config: {"plugin:berth/local-agent/default": {model: {primary: main, fallbacks: [], reasoning: {}}, box-session-id-template: "{launcher_type}_{launcher_id}"}}
inbound:  {max_file_bytes: 10485760, max_files: 20, max_total_bytes: 52428800, url_timeout_sec: 30}
export:   {max_file_bytes: 10485760, max_files: 100, max_total_bytes: 52428800}
outbound: {allowed_private_hosts: []}
knowledge_bases: []
mcp_servers: []
webhooks: []
tenants:  {main: {max_boxes: null, max_jobs: null, max_disk_mb: null, max_runs: null, runs_per_minute: null}}
skills:   {directory: ./skills}
plugins:  {directory: ./plugins, enabled: true}
compat:   {write_legacy_keys: true}
shutdown_grace_sec: 30
`;

describe("boxes.quota", () => {
  it("refuses a project quota with what can be had, and why", () => {
    const loaded = load("boxes:\n  quota: project\n");
    expect(loaded).toMatchObject({
      ok: false,
      faults: [
        {
          path: "boxes.quota",
          allowed: textLike(/^one of auto, loop, watchdog; project quotas of an engine are not offered/),
        },
      ],
    });
  });
});
