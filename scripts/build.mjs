/** Builds `src` into `dist`: compiled modules, the other files they read, and the console where there is one. */
import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runShown } from "./lib/commands.mjs";
import { Failure, runMain } from "./lib/failure.mjs";
import { say } from "./lib/progress.mjs";

const STAMP = "dist/.built";
// Vite builds it, with its own files.
const CONSOLE = join("src", "console");
// Plain modules are what other processes load: the same from the sources and from `dist`.
const ASSETS = new Set([".py", ".sql", ".mjs", ".mts"]);
const INPUTS = ["src", "tsconfig.json", "tsconfig.build.json", "vite.config.ts", "package-lock.json"];

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

/** Whether `dist` is missing or older than anything it is made from; a folder's time tells of removed files. */
export function isBuildStale() {
  if (!existsSync(STAMP)) return true;
  const builtAt = statSync(STAMP).mtimeMs;
  const isNewer = (/** @type {string} */ path) => statSync(path).mtimeMs > builtAt;
  return INPUTS.filter(existsSync).some((path) => isNewer(path) || entriesBelow(path).some(isNewer));
}

/** @param {string} path */
function entriesBelow(path) {
  return statSync(path).isDirectory()
    ? readdirSync(path, { recursive: true, encoding: "utf8" }).map((name) => join(path, name))
    : [];
}

/**
 * @param {string} name of a file in node_modules
 * @param {readonly string[]} args
 */
async function runTool(name, args) {
  const exitCode = await runShown(process.execPath, [`node_modules/${name}`, ...args]);
  if (exitCode !== 0)
    throw new Failure(`${name.split("/")[0]} failed.`, {
      hint: "Next step: repair what it names.",
      exitCode,
    });
}

export async function build() {
  say("Building dist.");
  const startedAt = new Date();
  rmSync("dist", { recursive: true, force: true });
  // The compiler would leave out files that it remembers to have written.
  rmSync("node_modules/.cache/tsc/build.tsbuildinfo", { force: true });
  await runTool("typescript/bin/tsc", ["-p", "tsconfig.build.json"]);
  for (const path of entriesBelow("src").filter(
    (name) => ASSETS.has(extname(name)) && !name.startsWith(CONSOLE),
  )) {
    cpSync(path, path.replace("src", "dist"), { recursive: true });
  }
  if (existsSync("vite.config.ts")) await runTool("vite/bin/vite.js", ["build", "--logLevel", "warn"]);
  if (existsSync("dist/main.js")) chmodSync("dist/main.js", 0o755);
  writeFileSync(STAMP, "");
  // A source that changed while the compiler ran makes the result stale.
  utimesSync(STAMP, startedAt, startedAt);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runMain(build);
