/** YAML of strangers: read only where reading it is cheap, and as plain JSON (no aliases, no deep nesting). */
import { Lexer, parse } from "yaml";
import { isPlainJson } from "../../lib/plain-json.js";

/** Levels of what was read. */
const MAX_DEPTH = 64;
/** Pieces of the text; what a reader does with them grows faster than their number. */
const MAX_TOKENS = 20_000;
/** Columns in which blocks may begin, and with it how deep they nest. */
const MAX_COLUMNS = 200;
/** Characters in quotes, all together. */
const MAX_QUOTED_CHARS = 16_384;

const NO_WIDTH: ReadonlySet<string> = new Set(["\u{FEFF}", "\u0002", "\u0018", "\u001F"]);

/**
 * The reader ends the process where it runs out of stack, and takes minutes over some faults; so the tokens are counted
 * before.
 * @throws RangeError that says which limit was passed, SyntaxError for what is no YAML
 */
export function parsePlainYaml(text: string): unknown {
  refuseCostly(text);
  const content = read(text);
  if (isPlainJson(content, MAX_DEPTH)) return content;
  throw new RangeError(`is nested more deeply than ${MAX_DEPTH} levels, or is not plain data`);
}

function read(text: string): unknown {
  try {
    return parse(text, { prettyErrors: false, maxAliasCount: 0, logLevel: "error" });
  } catch (error) {
    throw new SyntaxError("is not YAML", { cause: error });
  }
}

function refuseCostly(text: string): void {
  let tokens = 0;
  let depth = 0;
  let column = 0;
  let quoted = 0;
  for (const token of new Lexer().lex(text)) {
    tokens += 1;
    depth = depthAfter(token, depth);
    if (tokens > MAX_TOKENS) throw new RangeError(`has more than ${MAX_TOKENS} pieces`);
    if (depth > MAX_DEPTH) throw new RangeError(`is nested more deeply than ${MAX_DEPTH} levels`);
    if (depth === 0 && isBlock(token) && column > MAX_COLUMNS)
      throw new RangeError(`has blocks beyond column ${MAX_COLUMNS}`);
    if (token.startsWith("*")) throw new RangeError("has aliases, which are not taken");
    if (/^["']/.test(token)) quoted += token.length;
    if (quoted > MAX_QUOTED_CHARS)
      throw new RangeError(`has more than ${MAX_QUOTED_CHARS} characters in quotes`);
    column = columnAfter(token, column);
  }
}

/** Of collections in brackets. */
function depthAfter(token: string, depth: number): number {
  if (token === "[" || token === "{") return depth + 1;
  if (token === "]" || token === "}") return Math.max(0, depth - 1);
  return token === "\u0018" ? 0 : depth;
}

function isBlock(token: string): boolean {
  return token === "-" || token === "?" || token === ":";
}

function columnAfter(token: string, column: number): number {
  if (NO_WIDTH.has(token)) return column;
  const lineStart = token.lastIndexOf("\n") + 1;
  return lineStart === 0 ? column + token.length : token.length - lineStart;
}
