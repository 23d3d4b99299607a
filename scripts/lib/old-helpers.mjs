/** Images of earlier versions of boxd: one stays behind whenever box-image/boxd changes. */
import { EngineError } from "./engine.mjs";

const REPOSITORY = "berth-boxd";
/** Another checkout on the same engine may still work with a younger one. */
const KEPT_SECONDS = 7 * 24 * 3600;

/**
 * Removes those that are old and that nothing uses; the one in use by its name `latest` stays.
 * @param {import("./engine.mjs").Engine} engine
 */
export async function removeOldHelpers(engine) {
  const filters = JSON.stringify({ reference: [REPOSITORY] });
  /** @type {readonly { RepoTags: string[] | null, Created: number }[]} */
  const images = await engine.json("GET", "/images/json", { query: { filters } });
  const before = Date.now() / 1000 - KEPT_SECONDS;
  for (const { RepoTags: tags, Created: createdSec } of images) {
    if (createdSec > before || tags === null || tags.includes(`${REPOSITORY}:latest`)) continue;
    for (const tag of tags) if (tag.startsWith(`${REPOSITORY}:`)) await removeImage(engine, tag);
  }
}

/**
 * @param {import("./engine.mjs").Engine} engine
 * @param {string} tag
 */
async function removeImage(engine, tag) {
  try {
    await engine.text("DELETE", `/images/${tag}`);
  } catch (error) {
    // A container uses it, or somebody else has just removed it.
    if (!(error instanceof EngineError && [404, 409].includes(error.status))) throw error;
  }
}
