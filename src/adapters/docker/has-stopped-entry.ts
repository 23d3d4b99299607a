/** Reads from a list of a box's processes whether what the engine started there stands still. Pure. */

/**
 * What the box itself starts has its parent in the box; the first process and what the engine starts beside it do not.
 * @param processes number, parent and state letters of each, as `ps` writes them
 */
export function hasStoppedEntry(processes: readonly (readonly string[])[]): boolean {
  const numbers = new Set(processes.map(([number]) => number));
  return processes.some(([, parent, state]) => !numbers.has(parent) && state?.startsWith("T") === true);
}
