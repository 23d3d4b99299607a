/** Takes secrets that are known out of what is shown: exact matches, also where a stream cuts one in two (box §10.7). */

export const SECRET_MARK = "[redacted]";
/** A shorter secret would also hit ordinary words; keys of the service are longer (box §16.1). */
const MIN_SECRET_CHARS = 8;
/** Levels of lists and groups that are looked through; what lies deeper is left out whole. */
const MAX_DEPTH = 64;

/** Masks a text that comes in pieces. */
export interface TextMask {
  /** @returns what can be shown by now: all but an end that may be the beginning of a secret */
  push(piece: string): string;
  /** @returns what was held back */
  end(): string;
}

/** Masks bytes that come in pieces, whatever their encoding: secrets are looked for as UTF-8. */
export interface ByteMask {
  push(piece: Uint8Array): Uint8Array;
  end(): Uint8Array;
}

/** Immutable; a mask without secrets gives back what it gets. */
export class SecretMask {
  readonly #secrets: readonly string[];
  readonly #pattern: RegExp | null;
  readonly #firsts: ReadonlySet<string>;
  readonly #longest: number;

  /** @param secrets texts that must not be seen; those below 8 characters are not masked */
  constructor(secrets: Iterable<string>) {
    const known = [...new Set(secrets)].filter((secret) => secret.length >= MIN_SECRET_CHARS);
    // The longest first: of two secrets that begin alike, the whole of the longer one goes.
    this.#secrets = known.toSorted((one, other) => other.length - one.length);
    this.#pattern = known.length === 0 ? null : new RegExp(this.#secrets.map(escapePattern).join("|"), "g");
    this.#firsts = new Set(known.map((secret) => secret.charAt(0)));
    this.#longest = this.#secrets[0]?.length ?? 0;
  }

  text(text: string): string {
    return this.#pattern === null ? text : text.replace(this.#pattern, SECRET_MARK);
  }

  /** As `text`, without an end that may be the beginning of a secret: for a text that goes on. */
  openText(text: string): string {
    return this.#split(text).shown;
  }

  /** Masks every text in lists and groups, names of fields included. The value itself stays as it is. */
  value<Value>(value: Value): Value;
  value(value: unknown): unknown {
    return this.#pattern === null ? value : this.#valueAt(value, 0);
  }

  stream(): TextMask {
    if (this.#pattern === null) return { push: (piece) => piece, end: () => "" };
    let held = "";
    return {
      push: (piece) => {
        const { shown, rest } = this.#split(held + piece);
        held = rest;
        return shown;
      },
      end: () => {
        const last = this.text(held);
        held = "";
        return last;
      },
    };
  }

  byteStream(): ByteMask {
    if (this.#pattern === null) return { push: (piece) => piece, end: () => new Uint8Array() };
    const mask = new SecretMask(
      this.#secrets.map((secret) => Buffer.from(secret).toString("latin1")),
    ).stream();
    return {
      push: (piece) => {
        const text = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString("latin1");
        const shown = mask.push(text);
        return shown === text ? piece : Buffer.from(shown, "latin1");
      },
      end: () => Buffer.from(mask.end(), "latin1"),
    };
  }

  #split(text: string): { readonly shown: string; readonly rest: string } {
    if (this.#pattern === null) return { shown: text, rest: "" };
    let shown = "";
    let from = 0;
    let hold = this.#beginningAt(text, 0);
    for (const match of text.matchAll(this.#pattern)) {
      if (match.index >= hold) break;
      shown += text.slice(from, match.index) + SECRET_MARK;
      from = match.index + match[0].length;
      if (from > hold) hold = this.#beginningAt(text, from);
    }
    return { shown: shown + text.slice(from, hold), rest: text.slice(hold) };
  }

  /** Where the text's end begins that a secret also begins with; the text's length where there is none. */
  #beginningAt(text: string, from: number): number {
    for (let at = Math.max(from, text.length - this.#longest + 1); at < text.length; at += 1) {
      if (!this.#firsts.has(text.charAt(at))) continue;
      const end = text.slice(at);
      if (this.#secrets.some((secret) => secret.length > end.length && secret.startsWith(end))) return at;
    }
    return text.length;
  }

  #valueAt(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.text(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth >= MAX_DEPTH) return SECRET_MARK;
    if (Array.isArray(value)) return value.map((item: unknown) => this.#valueAt(item, depth + 1));
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [this.text(name), this.#valueAt(item, depth + 1)]),
    );
  }
}

function escapePattern(secret: string): string {
  return secret.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&");
}
