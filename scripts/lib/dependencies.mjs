/** The packages of package-lock.json, installed when they are missing or belong to another lock file. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { runShown } from "./commands.mjs";
import { Failure } from "./failure.mjs";
import { hasProgram, isRoot, platformFamily } from "./platform.mjs";
import { say } from "./progress.mjs";

const LOCK = "package-lock.json";
// npm writes this file last, so an interrupted install does not have it.
const INSTALLED = "node_modules/.package-lock.json";
const STAMP = "node_modules/.cache/berth/installed";

/** Works in the current folder, the root of the repository. */
export async function ensureDependencies() {
  const hash = createHash("sha256").update(readFileSync(LOCK)).digest("hex");
  if (!isInstalled(hash)) {
    say(`Installing packages: npm ci (${existsSync(INSTALLED) ? `${LOCK} has changed` : "first start"}).`);
    const exitCode = await runShown("npm", ["ci", "--no-audit", "--no-fund"]);
    if (exitCode !== 0) throw new Failure("npm ci failed.", { hint: adviceAfterFailure(), exitCode });
  }
  mkdirSync(dirname(STAMP), { recursive: true });
  writeFileSync(STAMP, hash);
}

/** @param {string} hash of the lock file */
function isInstalled(hash) {
  if (!existsSync(INSTALLED)) return false;
  if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === hash) return true;
  // Somebody installed by hand: what was installed after the lock file changed comes from it.
  return statSync(INSTALLED).mtimeMs >= statSync(LOCK).mtimeMs;
}

function adviceAfterFailure() {
  if (["make", "g++", "python3"].every(hasProgram) || platformFamily() !== "debian") {
    return "Next step: read npm's message above; then run this command again.";
  }
  const sudo = isRoot() ? "" : "sudo ";
  return `Next step, if a package had to be compiled: ${sudo}apt-get install -y build-essential python3; then run this command again.`;
}
