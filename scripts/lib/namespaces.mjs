/** What tests of a box's neighbours need beside the engine: network namespaces, and the program that makes them. */
import { runQuiet } from "./commands.mjs";
import { aptInstall, hasProgram, isRoot, platformFamily } from "./platform.mjs";
import { Progress, say } from "./progress.mjs";

const SKIPPED = "The tests of a box's neighbours are skipped:";

/** @returns {Promise<boolean>} whether they can be made, with `ip` installed where that is ours to do */
export async function ensureNamespaces() {
  if (!isRoot()) return skip("they need root.");
  if (!hasProgram("ip")) {
    if (platformFamily() !== "debian") return skip("they need ip.");
    await new Progress(1).step("The program for network namespaces: apt-get install iproute2", (report) =>
      aptInstall(["iproute2"], report),
    );
  }
  const name = `berth-probe-${process.pid}`;
  try {
    await runQuiet("ip", ["netns", "add", name]);
    await runQuiet("ip", ["netns", "del", name]);
    return true;
  } catch {
    return skip("this machine makes no network namespaces.");
  }
}

/** @param {string} reason */
function skip(reason) {
  say(`${SKIPPED} ${reason}`);
  return false;
}
