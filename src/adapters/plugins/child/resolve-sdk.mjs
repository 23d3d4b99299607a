/** Lets a package import `berth/plugin-sdk` wherever its directory is: it gets the one of the service it runs in. */

const SDK = new URL("../../../plugin-sdk/index.mjs", import.meta.url).href;

/**
 * @param {string} specifier
 * @param {unknown} context
 * @param {(specifier: string, context: unknown) => unknown} next
 */
export async function resolve(specifier, context, next) {
  return specifier === "berth/plugin-sdk" ? { url: SDK, shortCircuit: true } : next(specifier, context);
}
