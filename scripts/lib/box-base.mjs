/**
 * The image that the box image starts from: Debian's from the registry where one can be reached, else a minimal
 * system that mmdebstrap makes from this machine's package source and the engine imports.
 */
import { execFileSync } from "node:child_process";
import { createReadStream, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runQuiet } from "./commands.mjs";
import { debianSources } from "./debian-sources.mjs";
import { Failure, messageOf } from "./failure.mjs";
import { aptInstall, hasProgram, isRoot, platformFamily } from "./platform.mjs";

/** @typedef {import("./engine.mjs").Engine} Engine */
/** @typedef {(detail: string) => void} Report */

const FROM_REGISTRY = "debian:bookworm-slim";
const MADE_HERE = "berth-base:bookworm";
const KEEP_MS = 30 * 24 * 3600 * 1000;
const REGISTRY_SILENCE_MS = 15_000;
const CA_BUNDLE = "/etc/ssl/certs/ca-certificates.crt";

/**
 * @param {Engine} engine
 * @param {{ fresh: boolean, dpkgOptions: string }} options
 * @param {Report} report
 * @returns {Promise<string>} the name of an image that the engine has
 */
export async function provideBase(engine, { fresh, dpkgOptions }, report) {
  for (const name of fresh ? [] : [FROM_REGISTRY, MADE_HERE]) {
    if (await hasRecent(engine, name)) return name;
  }
  const refusal = await pull(engine, report);
  if (refusal === null) return FROM_REGISTRY;
  await makeBase(engine, { dpkgOptions, refusal }, report);
  return MADE_HERE;
}

/**
 * @param {Engine} engine
 * @param {string} name
 */
async function hasRecent(engine, name) {
  try {
    /** @type {{ Created: string }} */
    const { Created } = await engine.json("GET", `/images/${name}/json`);
    return Date.now() - Date.parse(Created) < KEEP_MS;
  } catch {
    return false;
  }
}

/**
 * @param {Engine} engine
 * @param {Report} report
 * @returns {Promise<string | null>} why there is no image from the registry, or null when there is one
 */
async function pull(engine, report) {
  const [fromImage = "", tag = ""] = FROM_REGISTRY.split(":");
  report(`asking the registry for ${FROM_REGISTRY}`);
  try {
    const call = { query: { fromImage, tag }, timeoutMs: REGISTRY_SILENCE_MS };
    /** @type {AsyncGenerator<{ status?: string, error?: string }>} */
    const events = engine.lines("POST", "/images/create", call);
    for await (const { status = "", error } of events) {
      if (error !== undefined) return error;
      report(status);
    }
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * @param {Engine} engine
 * @param {{ dpkgOptions: string, refusal: string }} options
 * @param {Report} report
 */
async function makeBase(engine, { dpkgOptions, refusal }, report) {
  if (!hasProgram("mmdebstrap")) await installBootstrap(refusal, report);
  const folder = mkdtempSync(join(tmpdir(), "berth-base-"));
  const archive = join(folder, "base.tar");
  const list = join(folder, "sources.list");
  try {
    const sources = debianSources();
    writeFileSync(list, `${sources.join("\n")}\n`);
    const hint = "Next step: make `apt-get update` work on this machine, or give an image by --base NAME.";
    await runQuiet("mmdebstrap", bootstrapArguments({ sources, list, archive, dpkgOptions }), {
      report,
      hint,
    });
    report("importing it into the engine");
    const [repo = "", tag = ""] = MADE_HERE.split(":");
    const query = { fromSrc: "-", repo, tag, changes: 'CMD ["bash"]' };
    await engine.text("POST", "/images/create", {
      query,
      body: createReadStream(archive),
      timeoutMs: 300_000,
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {string} refusal
 * @param {Report} report
 */
async function installBootstrap(refusal, report) {
  if (platformFamily() !== "debian" || !isRoot()) {
    const hint = [
      `Next step: let the engine reach a registry that has ${FROM_REGISTRY}, or give an image by --base NAME,`,
      "or on Debian and Ubuntu: sudo apt-get install -y --no-install-recommends mmdebstrap debian-archive-keyring uidmap",
    ].join("\n");
    throw new Failure(
      `The registry gave no base image (${refusal}), and mmdebstrap is not here to make one.`,
      { hint },
    );
  }
  await aptInstall(["mmdebstrap", "debian-archive-keyring"], report);
}

/** @param {{ sources: readonly string[], list: string, archive: string, dpkgOptions: string }} input */
function bootstrapArguments({ sources, list, archive, dpkgOptions }) {
  const needsTls = sources.some((line) => line.includes("https://"));
  const tls = [
    "--include=ca-certificates",
    `--customize-hook=upload ${CA_BUNDLE} /etc/apt/berth-ca.crt`,
    `--customize-hook=echo 'Acquire::https::CaInfo "/etc/apt/berth-ca.crt";' > "$1/etc/apt/apt.conf.d/99berth"`,
  ];
  return [
    "--variant=minbase",
    "--format=tar",
    `--dpkgopt=${dpkgOptions}`,
    ...aptSettings().map((setting) => `--aptopt=${setting}`),
    ...(needsTls && existsSync(CA_BUNDLE) ? tls : []),
    '--customize-hook=rm -f "$1/etc/resolv.conf" "$1/etc/hostname"',
    "bookworm",
    archive,
    // Without a list mmdebstrap takes Debian's own mirror.
    ...(sources.length === 0 ? [] : [list]),
  ];
}

/** The machine's settings about old mirrors and slow networks. Proxies go by build arguments, which leave no trace. */
function aptSettings() {
  const wanted =
    /^Acquire::(?:Check-Valid-Until|Check-Date|Retries|ForceIPv[46]|https?::(?:Timeout|Pipeline-Depth)) /;
  return aptConfiguration().filter((line) => wanted.test(line));
}

/** @returns {string[]} lines of `Name "value";` */
function aptConfiguration() {
  if (!hasProgram("apt-config")) return [];
  return execFileSync("apt-config", ["dump", "Acquire"], { encoding: "utf8" }).split("\n");
}

/**
 * The proxies of this machine, from the environment or else from apt's settings, as build arguments. The engine knows
 * these names and keeps them out of the image and its history.
 * @param {NodeJS.ProcessEnv} env
 */
export function proxyArguments(env) {
  /** @type {Record<string, string>} */
  const found = {};
  for (const line of aptConfiguration()) {
    const [, scheme, address] = /^Acquire::(https?)::Proxy "(\w+:\/\/.+)";$/i.exec(line) ?? [];
    if (scheme !== undefined && address !== undefined) found[`${scheme.toLowerCase()}_proxy`] = address;
  }
  for (const name of ["http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy"]) {
    const value = env[name] || env[name.toUpperCase()];
    if (value) found[name] = value;
  }
  return found;
}
