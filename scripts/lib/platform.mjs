/** What kind of machine this is, and how software gets onto it. */
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { runQuiet } from "./commands.mjs";

/** @returns {"debian" | "fedora" | "macos" | "other"} */
export function platformFamily() {
  if (process.platform === "darwin") return "macos";
  if (!existsSync("/etc/os-release")) return "other";
  const ids = /^ID(?:_LIKE)?=.*$/gm;
  const words =
    readFileSync("/etc/os-release", "utf8").match(ids)?.join(" ").replace(/["=]/g, " ").split(/\s+/) ?? [];
  if (words.includes("debian") || words.includes("ubuntu")) return "debian";
  return words.includes("fedora") || words.includes("rhel") ? "fedora" : "other";
}

export function isRoot() {
  return process.getuid?.() === 0;
}

/** @param {string} program */
export function hasProgram(program) {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/**
 * Installs Debian packages; another apt that runs at the same time is waited for.
 * @param {readonly string[]} packages
 * @param {(line: string) => void} report
 */
export async function aptInstall(packages, report) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const hint = "Next step: make `apt-get update` work on this machine, then try again.";
  const wait = "DPkg::Lock::Timeout=300";
  await runQuiet("apt-get", ["update", "-q"], { env, report, hint });
  const install = ["install", "-qy", "--no-install-recommends", "-o", wait, ...packages];
  await runQuiet("apt-get", install, { env, report, hint });
}
