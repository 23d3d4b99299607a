/** Values of a selector that select nothing (runs §4.3). */

/** The empty string, `__none__` and null. What is not there at all is another matter. */
export function isEmptySelection(value: unknown): boolean {
  return value === null || value === "" || value === "__none__";
}
