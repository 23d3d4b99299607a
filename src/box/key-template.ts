/** Grammar of session templates: literals, `{name}`, and `{{` `}}` for braces (box §2.2). */
import { ServiceError } from "../domain/errors.js";
import { isWellFormed } from "../lib/code-points.js";

export type TemplatePart =
  | {
      readonly kind: "literal";
      readonly text: string;
      /** The first character that no rendered value can hold, and its offset; null when there is none. */
      readonly separator: { readonly sign: string; readonly at: number } | null;
    }
  | { readonly kind: "variable"; readonly name: string };

export interface KeyTemplate {
  /** Adjacent literals are one part; variables are never neighbours. */
  readonly parts: readonly TemplatePart[];
  /** The template with `{global}` written out as `global`. */
  readonly canonical: string;
  /** Names of the variables, in order of first use. */
  readonly variables: readonly string[];
  /** Characters that are percent-encoded inside values: `%` and every other sign of the literals (box §2.4). */
  readonly encoded: ReadonlySet<string>;
}

type Token =
  | { readonly kind: "text"; readonly raw: string; readonly text: string }
  | { readonly kind: "name"; readonly name: string; readonly at: number };

const NAME = /^(?!\p{Nd}+$)[\p{L}\p{N}_-]+$/u;
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;

/**
 * Reads a template.
 * @throws ServiceError `session.template_invalid`, whose message names the place (characters counted from 1)
 */
export function parseTemplate(text: string): KeyTemplate {
  if (text === "") throw invalid("it is empty");
  if (!isWellFormed(text)) throw invalid("it is not valid Unicode text");
  const tokens = readTokens(text);
  const parts = joinLiterals(tokens);
  checkSeparators(parts);
  const signs = parts.flatMap((part) => (part.kind === "literal" ? Array.from(part.text) : []));
  return {
    parts,
    canonical: tokens.map((token) => (token.kind === "text" ? token.raw : `{${token.name}}`)).join(""),
    variables: [...new Set(parts.flatMap((part) => (part.kind === "variable" ? [part.name] : [])))],
    encoded: new Set(["%", ...signs.filter((sign) => !LETTER_OR_DIGIT.test(sign))]),
  };
}

function invalid(fault: string): ServiceError {
  return new ServiceError("session.template_invalid", `The session template is not valid: ${fault}.`, {
    hint: "Use plain {name} placeholders with a sign such as _ between them; {{ and }} stand for braces.",
    param: "box-session-id-template",
  });
}

function readTokens(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const pair = text.slice(at, at + 2);
    if (pair === "{{" || pair === "}}") {
      tokens.push({ kind: "text", raw: pair, text: pair.charAt(0) });
      at += 2;
    } else if (text.charAt(at) === "{") {
      const end = text.indexOf("}", at);
      if (end < 0) throw invalid(`the { at character ${at + 1} is never closed`);
      tokens.push(readPlaceholder(text.slice(at + 1, end), at + 1));
      at = end + 1;
    } else if (text.charAt(at) === "}") {
      throw invalid(`the } at character ${at + 1} was never opened`);
    } else {
      const length = `${text.slice(at)}{`.search(/[{}]/);
      const run = text.slice(at, at + length);
      tokens.push({ kind: "text", raw: run, text: run });
      at += run.length;
    }
  }
  return tokens;
}

function readPlaceholder(name: string, at: number): Token {
  if (name === "global") return { kind: "text", raw: "global", text: "global" };
  if (NAME.test(name)) return { kind: "name", name, at };
  throw invalid(`the placeholder {${name}} at character ${at} ${describePlaceholder(name)}`);
}

function describePlaceholder(name: string): string {
  if (name === "" || /^\p{Nd}+$/u.test(name)) return "is positional; it needs a name";
  if (name.includes("{")) return "holds another brace";
  if (name.includes("!")) return "has a conversion";
  if (name.includes(":")) return "has a format specification";
  if (/[.[\]]/.test(name)) return "has attribute or index access";
  return "is no plain name of letters, digits, _ and -";
}

function joinLiterals(tokens: readonly Token[]): TemplatePart[] {
  const parts: TemplatePart[] = [];
  for (const token of tokens) {
    if (token.kind === "name") {
      parts.push({ kind: "variable", name: token.name });
      continue;
    }
    const last = parts.at(-1);
    const before = last?.kind === "literal" ? last.text : "";
    if (last?.kind === "literal") parts.pop();
    parts.push(literal(before + token.text));
  }
  return parts;
}

function literal(text: string): TemplatePart {
  const found = /[^\p{L}\p{N}%]/u.exec(text);
  return { kind: "literal", text, separator: found === null ? null : { sign: found[0], at: found.index } };
}

function checkSeparators(parts: readonly TemplatePart[]): void {
  for (const [index, part] of parts.entries()) {
    if (part.kind !== "variable") continue;
    const next = parts[index + 1];
    if (next?.kind === "variable") throw invalid(`no literal separates {${part.name}} from {${next.name}}`);
    const after = parts[index + 2];
    if (next?.separator === null && after?.kind === "variable")
      throw invalid(
        `"${next.text}" between {${part.name}} and {${after.name}} has no sign other than letters, digits and %`,
      );
  }
}
