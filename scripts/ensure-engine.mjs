/**
 * Makes sure that a container engine answers (design §5): uses the one that is there, installs and starts one on
 * Debian and Ubuntu as root, and elsewhere says which commands do it. An engine that runs is never touched.
 */
import { spawn } from "node:child_process";
import { existsSync, openSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { runQuiet } from "./lib/commands.mjs";
import { Engine, engineUrl } from "./lib/engine.mjs";
import { noEngine } from "./lib/engine-advice.mjs";
import { EXIT, Failure, messageOf, runMain } from "./lib/failure.mjs";
import { aptInstall, hasProgram, isRoot, platformFamily } from "./lib/platform.mjs";
import { elapsed, Progress, say } from "./lib/progress.mjs";

const START_LIMIT_MS = 60_000;
const DAEMON = "dockerd";
const PID_FILE = "/var/run/docker.pid";
const LOG_FILE = "/var/log/berth-dockerd.log";

/** Returns when an engine answers; fails with exit code 69 and the commands to type when none can be had. */
export async function ensureEngine() {
  const engine = new Engine(process.env);
  const url = engineUrl(process.env);
  const answer = await engine.probe();
  if ("version" in answer) {
    say(`Container engine ${answer.version} answers at ${url}.`);
    return;
  }
  const { reason, code } = answer;
  const dockerHost = process.env["DOCKER_HOST"];
  const facts = { family: platformFamily(), isRoot: isRoot(), dockerHost, code };
  const nothingRuns = code === "ENOENT" || code === "ECONNREFUSED";
  if (dockerHost || !nothingRuns || facts.family !== "debian" || !facts.isRoot) {
    throw noEngine(`No container engine answers at ${url}: ${reason}.`, facts);
  }
  await installAndStart(engine);
}

/** @param {Engine} engine */
async function installAndStart(engine) {
  const startedAt = Date.now();
  const isInstalled = hasProgram(DAEMON);
  const progress = new Progress(isInstalled ? 2 : 3);
  say("No container engine answers. This is Debian or Ubuntu and you are root, so one is set up now.");
  if (!isInstalled) {
    await progress.step("Installing it: apt-get install docker.io iptables", (report) =>
      aptInstall(["docker.io", "iptables", "ca-certificates"], report),
    );
  }
  await progress.step("Looking for control groups, which limit what a box uses", mountControlGroups);
  await progress.step("Starting it", (report) => start(engine, report));
  /** @type {{ ServerVersion: string, MemoryLimit?: boolean, PidsLimit?: boolean }} */
  const { ServerVersion, MemoryLimit, PidsLimit } = await engine.json("GET", "/info");
  say(`Container engine ${ServerVersion} answers after ${elapsed(startedAt)}.`);
  if (MemoryLimit === false || PidsLimit === false) {
    say("Warning: this kernel does not limit memory or processes of a box; do not serve strangers from it.");
  }
}

const hasControlGroups = () =>
  existsSync("/sys/fs/cgroup/cgroup.controllers") || existsSync("/sys/fs/cgroup/memory/tasks");

/** @param {(line: string) => void} report */
async function mountControlGroups(report) {
  if (hasControlGroups()) return;
  if (!hasProgram("cgroupfs-mount")) await aptInstall(["cgroupfs-mount"], report);
  await runQuiet("cgroupfs-mount", [], { report });
  if (hasControlGroups()) return;
  const hint =
    "Next step: mount -t cgroup2 cgroup2 /sys/fs/cgroup, or start this machine with its init system.";
  throw new Failure("Control groups are not mounted.", { hint, exitCode: EXIT.unavailable });
}

/**
 * @param {Engine} engine
 * @param {(line: string) => void} report
 */
async function start(engine, report) {
  // The package may have started it already, by its own init script.
  if (isAlive(PID_FILE) && (await answers(engine, () => isAlive(PID_FILE)))) return;
  if (existsSync("/run/systemd/system")) {
    await runQuiet("systemctl", ["start", "docker"], { report, hint: "Next step: journalctl -u docker" });
    if (await answers(engine, () => true)) return;
    throw new Failure("The engine was started and does not answer.", {
      hint: "Next step: journalctl -u docker",
      exitCode: EXIT.unavailable,
    });
  }
  if (await startDaemon(engine)) return;
  if (/iptables|nf_tables/.test(logTail()) && existsSync("/usr/sbin/iptables-legacy")) {
    // Kernels without nf_tables refuse Debian's default variant of iptables.
    say("      the kernel refuses iptables-nft; switching this machine to iptables-legacy");
    await runQuiet("update-alternatives", ["--set", "iptables", "/usr/sbin/iptables-legacy"], { report });
    if (await startDaemon(engine)) return;
  }
  throw new Failure(`${logTail()}\n\nThe engine does not start.`, {
    hint: `Next step: read ${LOG_FILE}`,
    exitCode: EXIT.unavailable,
  });
}

/**
 * Starts the daemon as a process that outlives this script.
 * @param {Engine} engine
 */
async function startDaemon(engine) {
  const log = openSync(LOG_FILE, "a");
  const daemon = spawn(DAEMON, [], { detached: true, stdio: ["ignore", log, log] });
  let isRunning = true;
  const ended = () => {
    isRunning = false;
  };
  daemon.once("exit", ended).once("error", ended).unref();
  return answers(engine, () => isRunning);
}

/**
 * Waits until the engine answers, but not for one that has ended.
 * @param {Engine} engine
 * @param {() => boolean} isRunning
 */
async function answers(engine, isRunning) {
  const giveUpAt = Date.now() + START_LIMIT_MS;
  while (isRunning() && Date.now() < giveUpAt) {
    if ("version" in (await engine.probe(1000))) return true;
    await sleep(200);
  }
  return false;
}

/** @param {string} pidFile */
function isAlive(pidFile) {
  try {
    return existsSync(`/proc/${readFileSync(pidFile, "utf8").trim()}/cmdline`);
  } catch {
    return false;
  }
}

function logTail() {
  try {
    return readFileSync(LOG_FILE, "utf8").trimEnd().split("\n").slice(-12).join("\n");
  } catch (error) {
    return messageOf(error);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runMain(ensureEngine);
