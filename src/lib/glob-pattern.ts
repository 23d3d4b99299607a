/**
 * Glob patterns over paths with slashes: `*`, `?`, `[a-z]`, `[!a]`, `{a,b}`, `**` for any number of directories, and a
 * backslash before a character that stands for itself. Matching takes time in proportion to the lengths, whatever the
 * pattern: unlike a regular expression it cannot be made to run away.
 */

/** Alternatives that braces may give together. */
const MAX_ALTERNATIVES = 64;

export type CompiledGlob =
  /** `matches` takes a relative path without leading slash. */
  | { readonly ok: true; readonly matches: (path: string) => boolean }
  | { readonly ok: false; readonly reason: string };

export function compileGlob(pattern: string): CompiledGlob {
  const alternatives = expandBraces(pattern);
  if (alternatives === null)
    return { ok: false, reason: `its braces give more than ${MAX_ALTERNATIVES} alternatives` };
  const compiled = alternatives.map((alternative) => alternative.split("/").map(compileSegment));
  return {
    ok: true,
    matches: (path) => {
      const names = path.split("/");
      return compiled.some((segments) => matchSequence(segments, names, matchSegment));
    },
  };
}

/** Any run of items, an empty one included. */
const STAR = Symbol("*");

type CharacterToken = { readonly test: (character: string) => boolean };
type Segment = readonly (CharacterToken | typeof STAR)[];

function compileSegment(segment: string): Segment | typeof STAR {
  return segment === "**" ? STAR : readTokens(Array.from(segment));
}

function matchSegment(segment: Segment, name: string): boolean {
  return matchSequence(segment, Array.from(name), (token, character) => token.test(character));
}

/** Matches items against tokens; going back to the last star alone is enough to find a match if there is one. */
function matchSequence<Token, Item>(
  tokens: readonly (Token | typeof STAR)[],
  items: readonly Item[],
  matchOne: (token: Token, item: Item) => boolean,
): boolean {
  let [token, item] = [0, 0];
  let back: { token: number; item: number } | null = null;
  while (item < items.length) {
    const wanted = tokens[token];
    const given = items[item];
    if (wanted === STAR) {
      back = { token, item };
      token += 1;
    } else if (wanted !== undefined && given !== undefined && matchOne(wanted, given)) {
      token += 1;
      item += 1;
    } else if (back !== null) {
      back.item += 1;
      item = back.item;
      token = back.token + 1;
    } else return false;
  }
  return tokens.slice(token).every((rest) => rest === STAR);
}

function readTokens(characters: readonly string[]): Segment {
  const tokens: (CharacterToken | typeof STAR)[] = [];
  for (let i = 0; i < characters.length; i += 1) {
    const character = characters[i] ?? "";
    const set = character === "[" ? readSet(characters, i) : null;
    if (character === "*") tokens.push(STAR);
    else if (character === "?") tokens.push({ test: () => true });
    else if (set !== null) {
      tokens.push(set.token);
      i = set.end;
    } else if (character === "\\" && i + 1 < characters.length) {
      i += 1;
      tokens.push(literal(characters[i] ?? ""));
    } else tokens.push(literal(character));
  }
  return tokens;
}

function literal(wanted: string): CharacterToken {
  return { test: (character) => character === wanted };
}

/** A set that begins at `start`; null if no bracket closes it: then the bracket stands for itself. */
function readSet(
  characters: readonly string[],
  start: number,
): { readonly token: CharacterToken; readonly end: number } | null {
  const isNegated = characters[start + 1] === "!" || characters[start + 1] === "^";
  const first = start + (isNegated ? 2 : 1);
  const end = characters.indexOf("]", first + 1);
  if (end === -1) return null;
  const members = characters.slice(first, end);
  return { token: { test: (character) => isMember(members, character) !== isNegated }, end };
}

function isMember(members: readonly string[], character: string): boolean {
  for (let i = 0; i < members.length; i += 1) {
    const [from, dash, to] = members.slice(i, i + 3);
    if (dash === "-" && from !== undefined && to !== undefined) {
      if (codePoint(from) <= codePoint(character) && codePoint(character) <= codePoint(to)) return true;
      i += 2;
    } else if (from === character) return true;
  }
  return false;
}

function codePoint(character: string): number {
  return character.codePointAt(0) ?? 0;
}

/** @returns every alternative, or null when there are too many; braces that do not close stand for themselves */
function expandBraces(pattern: string): readonly string[] | null {
  const finished: string[] = [];
  const open = [pattern];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const brace = findBrace(next);
    if (brace === null) finished.push(next);
    else for (const choice of brace.choices) open.push(`${brace.before}${choice}${brace.after}`);
    if (finished.length + open.length > MAX_ALTERNATIVES) return null;
  }
  return finished;
}

interface Brace {
  readonly before: string;
  readonly choices: readonly string[];
  readonly after: string;
}

/** The first group of braces with at least one comma. */
function findBrace(pattern: string): Brace | null {
  for (
    let start = indexOfPlain(pattern, "{", 0);
    start !== -1;
    start = indexOfPlain(pattern, "{", start + 1)
  ) {
    const group = readGroup(pattern, start);
    if (group !== null && group.choices.length > 1)
      return { before: pattern.slice(0, start), choices: group.choices, after: pattern.slice(group.end + 1) };
  }
  return null;
}

function readGroup(
  pattern: string,
  start: number,
): { readonly choices: readonly string[]; readonly end: number } | null {
  const choices: string[] = [];
  let depth = 0;
  let begin = start + 1;
  for (let i = start; i < pattern.length; i += 1) {
    const character = pattern[i];
    if (character === "\\") i += 1;
    else if (character === "{") depth += 1;
    else if (character === "," && depth === 1) {
      choices.push(pattern.slice(begin, i));
      begin = i + 1;
    } else if (character === "}") {
      depth -= 1;
      if (depth === 0) return { choices: [...choices, pattern.slice(begin, i)], end: i };
    }
  }
  return null;
}

function indexOfPlain(pattern: string, wanted: string, from: number): number {
  for (let i = from; i < pattern.length; i += 1) {
    if (pattern[i] === "\\") i += 1;
    else if (pattern[i] === wanted) return i;
  }
  return -1;
}
