/** Which of the wanted ids there are: the step that models and knowledge bases share. Pure. */
import type { RunWarning } from "../domain/result.js";

/** Resources of one kind, and what was left out of them. */
export interface Granted<Resource> {
  readonly granted: readonly Resource[];
  readonly warnings: readonly RunWarning[];
}

/** Each id counts once, at its first place. */
export function splitKnown<Facts>(
  wanted: readonly string[],
  known: ReadonlyMap<string, Facts>,
): { readonly found: readonly Facts[]; readonly missing: readonly string[] } {
  const ids = [...new Set(wanted)];
  return {
    found: ids.flatMap((id) => known.get(id) ?? []),
    missing: ids.filter((id) => !known.has(id)),
  };
}
