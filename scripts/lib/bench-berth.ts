/** The service as `bench:runs` measures it: everything real, on a database of its own, with one trivial tool in the process. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sniffMimeType } from "../../src/adapters/file-types/sniff-mime-type.js";
import { Jobs } from "../../src/box/jobs.js";
import { Terminals } from "../../src/box/terminals.js";
import { buildBackend, buildBoxes } from "../../src/compose/build-boxes.js";
import { buildModels, buildRuns } from "../../src/compose/build-runs.js";
import { toHttpSettings, toJobsSettings } from "../../src/compose/feature-settings.js";
import { openBase } from "../../src/compose/open-base.js";
import type { Config } from "../../src/config/config-schema.js";
import { loadConfig } from "../../src/config/load-config.js";
import { createApp } from "../../src/http/create-app.js";
import { listen } from "../../src/http/listen.js";
import type { CleanupStack } from "../../src/lib/cleanup-stack.js";
import type { ToolSource } from "../../src/ports/tool-source.js";
import { FileService } from "../../src/runs/file-service.js";
import type { RunService } from "../../src/runs/run-service.js";
import { SessionService } from "../../src/runs/session-service.js";
import { createExecTool } from "../../src/tools/native/exec.js";
import { ToolCatalog } from "../../src/tools/tool-catalog.js";

const LOCAL_AGENT = "plugin:berth/local-agent/default";
const PER_MINUTE = 1_000_000;
const VERSION = "0.0.0-bench";

/** The tool of the other ways; the service has no tool without a box of its own, so it stands where MCP servers do. */
const ADDING: ToolSource = {
  source: "mcp",
  sourceId: "bench",
  reservedNames: [],
  list: async () => ({
    tools: [
      {
        source: "mcp",
        source_id: "bench",
        tool_name: "add",
        description: "Adds two numbers.",
        parameters: {
          type: "object",
          properties: { a: { type: "number" }, b: { type: "number" } },
          required: ["a", "b"],
          additionalProperties: false,
        },
        effect: { kind: "none" },
      },
    ],
    warnings: [],
  }),
  async *run({ input }) {
    const sum = Number(input["a"]) + Number(input["b"]);
    yield { type: "outcome", outcome: { ok: true, result: { sum } } };
  },
};

export interface BenchedService {
  readonly runs: RunService;
  readonly url: string;
}

/** What has to be closed again is given to `life`. @param modelUrl of the scripted server */
export async function startBenchedService(modelUrl: string, life: CleanupStack): Promise<BenchedService> {
  const directory = await mkdtemp(join(tmpdir(), "berth-bench-"));
  life.defer(() => rm(directory, { recursive: true, force: true }));
  const config = await configure(directory, modelUrl);
  const base = await openBase(config, { write: () => undefined }, life);
  const boxes = life.use(
    buildBoxes(config, base, { backend: life.use(buildBackend(config, base)), grants: undefined }),
  );
  const lease = boxes.lease.bind(boxes);
  const jobs = life.use(new Jobs({ ...base, lease }, toJobsSettings(config)));
  const terminals = life.use(new Terminals({ ...base, lease }, { maxOpen: 1 }));
  const catalog = new ToolCatalog({ sources: [ADDING], logger: base.logger });
  const parts = { base, boxes, jobs, models: buildModels(config), packages: null, catalog, version: VERSION };
  const { runs, runners } = buildRuns(config, parts);
  await runs.start();
  life.defer(() => runs.stop(0));
  const exec = createExecTool({ outputChars: 1000, mask: base.mask });
  const http = createApp({
    ...base,
    runs,
    files: new FileService({ ...base, files: base.stores.files, sniffMimeType }),
    sessions: new SessionService({ ...base, ...base.stores, boxes, jobs, terminals, exec }),
    boxes,
    runners,
    probeParts: async () => [],
    settings: toHttpSettings(config, VERSION),
  });
  const { streams, upgrades } = http;
  const listener = await listen(http.app, { host: "127.0.0.1", port: 0, streams, upgrades, ids: base.ids });
  life.defer(() => listener.close(0));
  return { runs, url: listener.url };
}

async function configure(directory: string, modelUrl: string): Promise<Config> {
  const file = join(directory, "berth.yaml");
  // JSON is YAML.
  const settings = {
    server: { port: 0 },
    storage: { directory: join(directory, "data") },
    boxes: { enabled: false },
    limits: { requests_per_minute: PER_MINUTE, runs_per_minute: PER_MINUTE },
    models: [{ id: "scripted", base_url: `${modelUrl}/v1`, model: "scripted" }],
    pipelines: [
      {
        id: "default",
        runner: { id: LOCAL_AGENT },
        runner_config: {
          [LOCAL_AGENT]: {
            model: { primary: "scripted", fallbacks: [], reasoning: {} },
            prompt: [{ role: "system", content: "You add numbers." }],
            tools: ["add"],
          },
        },
      },
    ],
  };
  await writeFile(file, JSON.stringify(settings));
  const loaded = loadConfig({ environment: {}, workingDirectory: directory, file });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  return loaded.config;
}
