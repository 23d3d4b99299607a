/**
 * `npm test`: the whole suite on a machine that has nothing yet. Arguments go to vitest; where only projects are named
 * that need no engine, none is set up.
 */
import { fileURLToPath } from "node:url";
import { buildBoxImage } from "./build-box-image.mjs";
import { ensureEngine } from "./ensure-engine.mjs";
import { runShown } from "./lib/commands.mjs";
import { ensureCompiler } from "./lib/compiler.mjs";
import { ensureDependencies } from "./lib/dependencies.mjs";
import { runMain } from "./lib/failure.mjs";
import { ensureNamespaces } from "./lib/namespaces.mjs";
import { requireNode } from "./lib/node-version.mjs";

const WITHOUT_ENGINE = new Set(["unit", "integration", "console"]);

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

/** @param {readonly string[]} args of vitest */
function needsEngine(args) {
  const projects = args.flatMap((arg, index) => {
    if (arg === "--project") return [args[index + 1] ?? ""];
    return arg.startsWith("--project=") ? [arg.slice("--project=".length)] : [];
  });
  return projects.length === 0 || !projects.every((name) => WITHOUT_ENGINE.has(name));
}

await runMain(async () => {
  const args = process.argv.slice(2);
  requireNode();
  await ensureDependencies();
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...process.env };
  if (needsEngine(args)) {
    await ensureEngine();
    await buildBoxImage();
    if (await ensureCompiler()) env["REQUIRE_COMPILER"] = "1";
    if (await ensureNamespaces()) env["REQUIRE_NAMESPACES"] = "1";
    // From here on a missing engine is a failure, not a reason to skip.
    env["REQUIRE_DOCKER"] = "1";
  }
  return runShown(process.execPath, ["node_modules/vitest/vitest.mjs", "run", ...args], { env });
});
