/** What the tests of boxd need beside the engine: a compiler with its sanitizers, make, and python3. */
import { aptInstall, hasProgram, isRoot, platformFamily } from "./platform.mjs";
import { Progress, say } from "./progress.mjs";

const PROGRAMS = ["gcc", "make", "python3"];

/** @returns {Promise<boolean>} whether it is there, installed where that is ours to do */
export async function ensureCompiler() {
  const missing = PROGRAMS.filter((program) => !hasProgram(program));
  if (missing.length === 0) return true;
  if (platformFamily() !== "debian" || !isRoot()) {
    say(`The tests of boxd are skipped: they need ${missing.join(", ")}.`);
    return false;
  }
  await new Progress(1).step(
    "A compiler for the tests of boxd: apt-get install gcc libc6-dev make python3",
    (report) => aptInstall(["gcc", "libc6-dev", "make", "python3"], report),
  );
  return true;
}
