/** The packages of package-lock.json, installed when they are missing or belong to another lock file. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { runShown } from "./commands.mjs";
import { Failure } from "./failure.mjs";
import { withLock } from "./lock.mjs";
import { parseJson } from "./parse-json.mjs";
import { aptInstall, hasProgram, isRoot, platformFamily } from "./platform.mjs";
import { say } from "./progress.mjs";

const LOCK = "package-lock.json";
// npm writes this file last, so an interrupted install does not have it.
const INSTALLED = "node_modules/.package-lock.json";
const COMPILERS = ["g++", "make", "python3"];

/** @typedef {{ packages: Record<string, { version?: string, integrity?: string, optional?: boolean }> }} LockFile */

/** Works in the current folder, the root of the repository. */
export async function ensureDependencies() {
  if (isInstalled()) return;
  const folder = createHash("sha256").update(process.cwd()).digest("hex").slice(0, 12);
  await withLock(`install-${folder}`, async () => {
    if (isInstalled()) return;
    const occasion = existsSync("node_modules")
      ? "node_modules is not what package-lock.json says"
      : "first start";
    say(`Installing packages: npm ci (${occasion}; this takes up to three minutes).`);
    await install();
  });
}

/** Whether every package of the lock file is there in its version; those for other platforms may be missing. */
function isInstalled() {
  if (!existsSync(INSTALLED)) return false;
  const wanted = readLock(LOCK);
  const present = readLock(INSTALLED);
  return Object.entries(wanted.packages).every(([path, { version, integrity, optional = false }]) => {
    const found = present.packages[path];
    if (path === "" || (found === undefined && optional)) return true;
    return found?.version === version && found?.integrity === integrity;
  });
}

/**
 * @param {string} path
 * @returns {LockFile}
 */
function readLock(path) {
  return parseJson(readFileSync(path, "utf8"));
}

async function install() {
  const env = { ...process.env, ...headersOfThisNode() };
  const args = ["ci", "--no-audit", "--no-fund"];
  let exitCode = await runShown("npm", args, { env });
  const hasCompiler = COMPILERS.every(hasProgram);
  if (exitCode !== 0 && !hasCompiler && platformFamily() === "debian" && isRoot()) {
    say(
      `A package may have to be compiled, so once more with a compiler: apt-get install ${COMPILERS.join(" ")}.`,
    );
    await aptInstall(COMPILERS, () => {});
    exitCode = await runShown("npm", args, { env });
  }
  if (exitCode === 0) return;
  const compiler = hasCompiler ? "" : `; if a package had to be compiled, install ${COMPILERS.join(", ")}`;
  throw new Failure("npm ci failed.", { hint: `Next step: read npm's message above${compiler}.`, exitCode });
}

/** Compiling a package needs Node's headers; those beside this Node save a download that not every network allows. */
function headersOfThisNode() {
  const folder = dirname(dirname(process.execPath));
  return existsSync(`${folder}/include/node/node.h`) ? { npm_config_nodedir: folder } : {};
}
