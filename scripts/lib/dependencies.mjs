/** The packages of package-lock.json, installed when they are missing or belong to another lock file. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { runShown } from "./commands.mjs";
import { Failure } from "./failure.mjs";
import { aptInstall, hasProgram, isRoot, platformFamily } from "./platform.mjs";
import { say } from "./progress.mjs";

const LOCK = "package-lock.json";
// npm writes this file last, so an interrupted install does not have it.
const INSTALLED = "node_modules/.package-lock.json";
const COMPILERS = ["g++", "make", "python3"];
const STAMP = "node_modules/.cache/berth/installed";

/** Works in the current folder, the root of the repository. */
export async function ensureDependencies() {
  const hash = createHash("sha256").update(readFileSync(LOCK)).digest("hex");
  if (!isInstalled(hash)) {
    say(
      `Installing packages: npm ci (${existsSync(INSTALLED) ? `${LOCK} has changed` : "first start; this takes up to three minutes"}).`,
    );
    await install();
  }
  mkdirSync(dirname(STAMP), { recursive: true });
  writeFileSync(STAMP, hash);
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

/** @param {string} hash of the lock file */
function isInstalled(hash) {
  if (!existsSync(INSTALLED)) return false;
  if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === hash) return true;
  // Somebody installed by hand: what was installed after the lock file changed comes from it.
  return statSync(INSTALLED).mtimeMs >= statSync(LOCK).mtimeMs;
}
