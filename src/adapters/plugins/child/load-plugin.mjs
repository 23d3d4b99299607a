/** Reads the definition that a package's entry exports as its default. */

/**
 * @typedef {{
 *   runners: Readonly<Record<string, (context: unknown, host: unknown, options: unknown) => AsyncIterable<unknown>>>,
 *   tools: Readonly<Record<string, (parameters: unknown, options: unknown) => unknown>>,
 *   onEvent: ((event: unknown, options: unknown) => unknown) | null,
 * }} Plugin
 */

/**
 * @param {string} entryUrl
 * @returns {Promise<Plugin>}
 */
export async function loadPlugin(entryUrl) {
  /** @type {{ default: Partial<Plugin> | null | undefined }} */
  const { default: definition } = await import(entryUrl);
  if (typeof definition !== "object" || definition === null)
    throw new TypeError("The entry's default export is no plugin definition.");
  const { runners = {}, tools = {}, onEvent = null } = definition;
  return { runners, tools, onEvent };
}
