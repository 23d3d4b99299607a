/**
 * `npm start`: from a fresh clone to a running service. Packages, build, engine and box image are made when they are
 * missing or stale, each by its own script; then the service runs in the foreground. Arguments go to the service.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { build, isBuildStale } from "./build.mjs";
import { buildBoxImage } from "./build-box-image.mjs";
import { ensureEngine } from "./ensure-engine.mjs";
import { exitCodeOf } from "./lib/commands.mjs";
import { ensureDependencies } from "./lib/dependencies.mjs";
import { runMain } from "./lib/failure.mjs";
import { requireNode } from "./lib/node-version.mjs";
import { hasProgram } from "./lib/platform.mjs";

// One Ctrl-C arrives from the terminal and from npm; within this time it is the same one.
const SAME_SIGNAL_MS = 500;

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

/**
 * Runs the service in a session of its own, so that a signal reaches it once: from here.
 * @param {readonly string[]} args
 */
async function runService(args) {
  const node = [process.execPath, "dist/main.js", ...args];
  // Where this script is killed without a chance to say so, the kernel tells the service.
  const command =
    process.platform === "linux" && hasProgram("setpriv")
      ? ["setpriv", "--pdeathsig", "TERM", ...node]
      : node;
  const [program = "", ...rest] = command;
  const service = spawn(program, rest, { stdio: ["ignore", "inherit", "inherit"], detached: true });
  let lastAt = -Infinity;
  const passOn = (/** @type {NodeJS.Signals} */ signal) => {
    if (performance.now() - lastAt < SAME_SIGNAL_MS) return;
    lastAt = performance.now();
    // A closed terminal is an orderly end.
    service.kill(signal === "SIGHUP" ? "SIGTERM" : signal);
  };
  process.on("SIGINT", passOn).on("SIGTERM", passOn).on("SIGHUP", passOn);
  return exitCodeOf(service, "The service");
}

await runMain(async () => {
  requireNode();
  await ensureDependencies();
  if (isBuildStale()) await build();
  await ensureEngine();
  await buildBoxImage();
  return runService(process.argv.slice(2));
});
