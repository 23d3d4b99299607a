/**
 * Builds the image of boxes through the engine (design §4): `--target slim|full|max` (default full) with the smaller
 * ones on the way, and the image of boxd; `--target boxd` that one alone. Nothing happens when the images of this
 * box-image/ are there already.
 *
 *   --base NAME   start from this image   --fresh   new base and no build cache, for security updates
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { provideBase, proxyArguments } from "./lib/box-base.mjs";
import { smokeTest } from "./lib/box-smoke.mjs";
import { lineTail } from "./lib/commands.mjs";
import { Engine, EngineError } from "./lib/engine.mjs";
import { EXIT, Failure, runMain } from "./lib/failure.mjs";
import { withLock } from "./lib/lock.mjs";
import { removeOldHelpers } from "./lib/old-helpers.mjs";
import { elapsed, Progress, say } from "./lib/progress.mjs";
import { packFolder } from "./lib/tar.mjs";

/** @typedef {(detail: string) => void} Report */

/**
 * One image: its tag carries the hash of what it is made of, `alias` names the newest. Without a smoke test `program` is null.
 * @typedef {{ repository: string, target: string, tag: string, alias: string, context: Buffer, program: string | null }} Plan
 */

const TARGETS = ["slim", "full", "max"];
const HELPER = "boxd";
const SILENCE_MS = 600_000;
const FOLDER = fileURLToPath(new URL("../box-image/", import.meta.url));
const DPKG_OPTIONS = join(FOLDER, "rootfs/etc/dpkg/dpkg.cfg.d/berth");

/**
 * @param {{ target?: string | undefined, base?: string | undefined, fresh?: boolean }} [options]
 * @returns {Promise<void>} when the tags `berth-box:<target>` and `berth-boxd:latest` name images of this box-image/
 */
export async function buildBoxImage({ target = "full", base, fresh = false } = {}) {
  const engine = new Engine(process.env);
  const images = [planHelper(), ...planBoxes(TARGETS.slice(0, TARGETS.indexOf(target) + 1))];
  if (!fresh && (await tagExisting(engine, images)).length === 0)
    return say(`Box image is there: ${namesOf(images)}.`);
  await withLock("box-image", async () => {
    // Another process may have built it while this one waited.
    const missing = fresh ? images : await tagExisting(engine, images);
    if (missing.length === 0) return say(`Box image is there: ${namesOf(images)}.`);
    await build(engine, { images: missing, base, fresh });
    await removeOldHelpers(engine);
  });
}

/**
 * @param {readonly string[]} targets
 * @returns {Plan[]}
 */
function planBoxes(targets) {
  const context = packFolder(FOLDER, ["Dockerfile", "rootfs"]);
  const program = readFileSync(join(FOLDER, "smoke-test.py"), "utf8");
  return targets.map((target) => {
    const hash = createHash("sha256")
      .update(context)
      .update(program)
      .update(target)
      .digest("hex")
      .slice(0, 12);
    return { repository: "berth-box", target, tag: `${target}-${hash}`, alias: target, context, program };
  });
}

/** @returns {Plan} of boxd, which starts from the same base and shares nothing else with the boxes */
function planHelper() {
  const context = packFolder(join(FOLDER, HELPER), ["Dockerfile", "Makefile", "src"]);
  const tag = createHash("sha256").update(context).digest("hex").slice(0, 12);
  return { repository: "berth-boxd", target: HELPER, tag, alias: "latest", context, program: null };
}

/** @param {readonly Plan[]} images */
const namesOf = (images) => images.map(({ repository, tag }) => `${repository}:${tag}`).join(", ");

/**
 * @param {Engine} engine
 * @param {readonly Plan[]} images
 * @returns {Promise<Plan[]>} those that are not there
 */
async function tagExisting(engine, images) {
  const missing = [];
  for (const image of images) {
    try {
      await engine.text("POST", `/images/${image.repository}:${image.tag}/tag`, {
        query: { repo: image.repository, tag: image.alias },
      });
    } catch (error) {
      if (!(error instanceof EngineError && error.status === 404)) throw error;
      missing.push(image);
    }
  }
  return missing;
}

/**
 * @param {Engine} engine
 * @param {{ images: readonly Plan[], base: string | undefined, fresh: boolean }} plan
 */
async function build(engine, { images, base, fresh }) {
  const startedAt = Date.now();
  const progress = new Progress(1 + images.length + images.filter(({ program }) => program !== null).length);
  say(`Building ${namesOf(images)}. The first time this takes a few minutes.`);
  const baseName = await progress.step(
    "Base system: from the registry, else made from this machine's packages",
    (report) =>
      base === undefined
        ? provideBase(engine, { fresh, dpkgOptions: DPKG_OPTIONS }, report)
        : Promise.resolve(base),
  );
  for (const { repository, target, tag, alias, context, program } of images) {
    // The larger boxes stand on the smallest, which is made anew before them.
    const withoutCache = fresh && (target === HELPER || target === TARGETS[0]);
    const image = await progress.step(`Image ${target}, on ${baseName}`, (report) =>
      buildTarget(engine, { target, base: baseName, context, withoutCache }, report),
    );
    if (program !== null)
      await progress.step(`Smoke test of ${target}, in a box without network`, (report) =>
        smokeTest(engine, { image, target, program }, report),
      );
    for (const name of [tag, alias])
      await engine.text("POST", `/images/${image}/tag`, { query: { repo: repository, tag: name } });
  }
  say(`Box image is ready after ${elapsed(startedAt)}: ${await sizesOf(engine, images)}.`);
}

/**
 * @param {Engine} engine
 * @param {{ target: string, base: string, context: Buffer, withoutCache: boolean }} input
 * @param {Report} report
 * @returns {Promise<string>} the id of the image
 */
async function buildTarget(engine, { target, base, context, withoutCache }, report) {
  const query = {
    target,
    // Packages come over the machine's own network: its names, proxies and mirror work there.
    networkmode: "host",
    buildargs: JSON.stringify({ BASE: base, ...proxyArguments(process.env) }),
    nocache: withoutCache ? "1" : "0",
    forcerm: "1",
  };
  let step = "";
  const tail = lineTail((line) => {
    step = /^(Step \d+\/\d+)/.exec(line)?.[1] ?? step;
    report(`${step} · ${line}`);
  });
  /** @type {AsyncGenerator<{ stream?: string, error?: string, aux?: { ID?: string } }>} */
  const events = engine.lines("POST", "/build", { query, body: context, timeoutMs: SILENCE_MS });
  let image = "";
  for await (const { stream = "", error, aux } of events) {
    tail.add(stream);
    image = aux?.ID ?? image;
    if (error !== undefined) {
      const hint =
        "Next step: if packages could not be fetched, make `apt-get update` work (http_proxy is passed on) and try again.";
      const reason = /returned a non-zero code: \d+/.exec(error)?.[0] ?? error;
      throw new Failure(`${tail.text()}\n\nThe ${target} image could not be built: ${step} ${reason}`, {
        hint,
      });
    }
  }
  return image;
}

/**
 * @param {Engine} engine
 * @param {readonly Plan[]} images
 */
async function sizesOf(engine, images) {
  const sizes = images.map(async ({ repository, alias }) => {
    /** @type {{ Size: number }} */
    const { Size } = await engine.json("GET", `/images/${repository}:${alias}/json`);
    return `${repository}:${alias} (${(Size / 1e6).toFixed(Size < 1e6 ? 1 : 0)} MB)`;
  });
  return (await Promise.all(sizes)).join(", ");
}

async function main() {
  const { values } = parseArgs({
    options: {
      target: { type: "string", multiple: true, default: ["full"] },
      base: { type: "string" },
      fresh: { type: "boolean", default: false },
    },
  });
  const known = [HELPER, ...TARGETS];
  const unknown = values.target.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new Failure(`There is no target ${unknown}; there are ${known.join(", ")}.`, {
      exitCode: EXIT.usage,
    });
  }
  const target = known.findLast((name) => values.target.includes(name));
  await buildBoxImage({ ...values, target });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runMain(main);
