/** What a model is told that called a tool which does not exist (local-agent §7.1). Pure. */

export function missingToolText(name: string, available: readonly string[], nearest: string | null): string {
  const offer =
    available.length === 0 ? "This run offers no tools." : `Available tools: ${available.join(", ")}.`;
  const guess = nearest === null ? "" : ` Did you mean "${nearest}"?`;
  return `The tool "${name}" does not exist. ${offer}${guess}`;
}

/** The name with the fewest edits between it and the given one; the first of equals, null without names. */
export function nearestName(name: string, names: readonly string[]): string | null {
  let nearest: { readonly name: string; readonly edits: number } | null = null;
  for (const candidate of names) {
    const edits = countEdits(name.slice(0, 64).toLowerCase(), candidate.toLowerCase());
    if (nearest === null || edits < nearest.edits) nearest = { name: candidate, edits };
  }
  return nearest?.name ?? null;
}

/** Levenshtein distance, one row at a time. */
function countEdits(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
