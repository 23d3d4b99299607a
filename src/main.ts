#!/usr/bin/env node
/** The process: command word, config, compose, listen, signals, drain, exit code. */
import { parseArgs } from "node:util";
import { readServiceVersion } from "./compose/service-version.js";
import { compose, findRunnerFaults, TOOL_NAMES } from "./compose.js";
import { CONFIG_EXIT_CODE, describeLoadedConfig } from "./config/check-config.js";
import type { Config } from "./config/config-schema.js";
import { type LoadedConfig, loadConfig } from "./config/load-config.js";
import { migrateConfigFile } from "./config/migrate-config.js";
import { toServiceError } from "./domain/errors.js";
import { CleanupStack } from "./lib/cleanup-stack.js";

/** Exit codes besides those of the configuration: software failure, service unavailable (sysexits). */
const EXIT_USAGE = 64;
const EXIT_UNAVAILABLE = 69;

function load(file?: string): LoadedConfig {
  return loadConfig({
    environment: process.env,
    workingDirectory: process.cwd(),
    file,
    findRunnerFaults,
    toolNames: TOOL_NAMES,
  });
}

async function main(words: readonly string[]): Promise<number> {
  const [command, argument] = words;
  switch (command) {
    case undefined:
    case "start":
      return serve();
    case "check-config": {
      if (argument === undefined) return fail("check-config needs a file.\n", EXIT_USAGE);
      const loaded = load(argument);
      process.stdout.write(describeLoadedConfig(loaded));
      return loaded.ok ? 0 : CONFIG_EXIT_CODE;
    }
    case "migrate-config":
      return migrate(words.slice(1));
    case "--version":
      process.stdout.write(`${readServiceVersion()}\n`);
      return 0;
    case "--help":
    case "-h":
    case "help":
      process.stdout.write(usage());
      return 0;
    default:
      return fail(`Unknown command "${command}".\n\n${usage()}`, EXIT_USAGE);
  }
}

/** Words: the file, and what was decided. */
async function migrate(words: readonly string[]): Promise<number> {
  const { values, positionals } = readMigrateWords(words);
  const [file, ...more] = positionals;
  const { templates: template } = values;
  const isChoice = template === undefined || template === "keep" || template === "drop";
  if (file === undefined || more.length > 0 || !isChoice)
    return fail(`migrate-config needs one file.\n\n${usage()}`, EXIT_USAGE);
  const done = await migrateConfigFile(file, { confirmed: values.confirm ?? false, template });
  if (done.exitCode !== 0) return fail(done.text, done.exitCode);
  process.stdout.write(done.text);
  return 0;
}

function readMigrateWords(words: readonly string[]): {
  readonly values: { readonly confirm?: boolean | undefined; readonly templates?: string | undefined };
  readonly positionals: readonly string[];
} {
  try {
    return parseArgs({
      args: [...words],
      allowPositionals: true,
      options: { confirm: { type: "boolean" }, templates: { type: "string" } },
    });
  } catch {
    return { values: {}, positionals: [] };
  }
}

async function serve(): Promise<number> {
  const loaded = load();
  if (!loaded.ok) return fail(describeLoadedConfig(loaded), CONFIG_EXIT_CODE);
  const stopping = stopSignal();
  await using life = new CleanupStack();
  try {
    const service = life.use(await compose(loaded.config, { logDestination: process.stderr }));
    announce(loaded, await service.listen());
  } catch (error) {
    return fail(describeFailedStart(error), EXIT_UNAVAILABLE);
  }
  await stopping;
  say(
    `Berth stops: what runs has ${loaded.config.shutdown_grace_sec} s to end; a second signal ends it at once.`,
  );
  await life[Symbol.asyncDispose]();
  say("Berth has stopped.");
  return 0;
}

function describeFailedStart(error: unknown): string {
  const { message, hint } = toServiceError(error);
  const detail = error instanceof Error && message !== error.message ? ` (${error.message})` : "";
  return `The service could not start: ${message}${detail}${hint === undefined ? "" : ` ${hint}`}\n`;
}

/** Resolves at the first SIGTERM or SIGINT; the second one ends the process at once. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let seen = 0;
    const onSignal = (): void => {
      seen += 1;
      if (seen > 1) process.exit(1);
      resolve();
    };
    process.on("SIGTERM", onSignal);
    process.on("SIGINT", onSignal);
  });
}

function announce({ config, notices }: Extract<LoadedConfig, { ok: true }>, url: string): void {
  const model = modelLine(config);
  const { host, keys } = config.server;
  const everywhere =
    host === "0.0.0.0" || host === "::" ? ", and on every other address of this machine" : "";
  const text =
    'Here is a table.\\n```bash\\nhead -3 \\"$BERTH_INBOX\\"/0/*; wc -l \\"$BERTH_INBOX\\"/0/* > \\"$BERTH_OUTBOX/lines.txt\\"\\n```';
  const lines = [
    `Berth ${readServiceVersion()} listens on ${url}${everywhere}`,
    `Model: ${model}`,
    ...notices,
    "Try it, in another terminal (a message with a file):",
    "",
    `  printf 'city,sales\\nRome,3\\nOslo,5\\n' > /tmp/table.csv`,
    `  curl -s ${url}/v1/runs${keyHeader(keys)} --form-string 'request={"chat":{"launcher_id":"42"},"input":{"text":"${text}"}}' -F 'file=@/tmp/table.csv'`,
    "",
  ];
  say(lines.join("\n"));
}

/** For a command line; the key itself is not printed. */
function keyHeader(keys: Config["server"]["keys"]): string {
  if (keys.length === 0) return "";
  const isOfEnvironment = keys.some(({ key }) => key === process.env["BERTH_API_KEY"]);
  return ` -H "Authorization: Bearer ${isOfEnvironment ? "$BERTH_API_KEY" : "KEY"}"`;
}

function modelLine({ models }: Config): string {
  const [first] = models;
  return first === undefined ? "demo (offline)" : `${first.model} at ${new URL(first.base_url).host}`;
}

function usage(): string {
  return `berth ${readServiceVersion()}

  berth                    start the service (configuration: BERTH_CONFIG, else berth.yaml, else built in)
  berth check-config FILE  check a configuration file without starting
  berth migrate-config FILE [--confirm] [--templates keep|drop]
                           show what brings its pipelines up to date; with --confirm write it, and keep FILE.bak
  berth --version
`;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function fail(text: string, code: number): number {
  process.stderr.write(text);
  return code;
}

process.exitCode = await main(process.argv.slice(2));
