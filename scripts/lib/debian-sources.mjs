/** Which Debian mirror this machine uses, read from its own package sources (both formats, whatever the files are called). */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const RELEASE = "bookworm";
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";
const CODENAMES = "bookworm|trixie|forky|bullseye|sid|unstable|testing|stable|oldstable";
const SUITE = new RegExp(`^(?:${CODENAMES})(-updates|-security)?$`);
/** @typedef {{ uri: string, suite: string }} Source */

/**
 * The machine's mirror as the sources of our release; empty where the machine names none, as on Ubuntu.
 * An address with a password in it is left out, because the image would carry it.
 * @param {string} [folder]
 */
export function debianSources(folder = "/etc/apt") {
  const found = readSources(folder).flatMap(({ uri, suite }) => {
    const match = SUITE.exec(suite);
    const isUsable = /^https?:\/\/[^@]+$/.test(uri) && /debian/i.test(uri);
    return match === null || !isUsable ? [] : [{ uri, suite: RELEASE + (match[1] ?? "") }];
  });
  const sources = found.some(({ suite }) => suite === RELEASE) ? found : [];
  const signedBy = existsSync(KEYRING) ? `[signed-by=${KEYRING}] ` : "";
  return [...new Set(sources.map(({ uri, suite }) => `deb ${signedBy}${uri} ${suite} main`))];
}

/**
 * @param {string} folder
 * @returns {Source[]}
 */
function readSources(folder) {
  const parts = join(folder, "sources.list.d");
  const names = existsSync(parts) ? readdirSync(parts).map((name) => join(parts, name)) : [];
  return [join(folder, "sources.list"), ...names].filter(existsSync).flatMap((path) => {
    const text = readFileSync(path, "utf8").replace(/^#.*\n?/gm, "");
    return path.endsWith(".sources") ? parseStanzas(text) : parseLines(text);
  });
}

/** @param {string} text one-line format: deb [options] uri suite component… */
function parseLines(text) {
  const lines = [...text.matchAll(/^\s*deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s+(.+)$/gm)];
  return lines
    .filter(([, , , components = ""]) => components.split(/\s+/).includes("main"))
    .map(([, uri = "", suite = ""]) => ({ uri, suite }));
}

/** @param {string} text stanzas of fields */
function parseStanzas(text) {
  return text.split(/\n\s*\n/).flatMap((stanza) => {
    const words = (/** @type {string} */ field) =>
      new RegExp(`^${field}:((?:.*)(?:\\n[ \\t].*)*)`, "im").exec(stanza)?.[1]?.trim().split(/\s+/) ?? [];
    const isUsed = words("Types").includes("deb") && !words("Enabled").includes("no");
    if (!isUsed || !words("Components").includes("main")) return [];
    return words("URIs").flatMap((uri) => words("Suites").map((suite) => ({ uri, suite })));
  });
}
