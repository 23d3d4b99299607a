/** Tells thinking from answer while a reply arrives, whatever way its tags are split (local-agent §11.6). Pure. */

/** Pieces keep their tags: all texts joined are the text that was pushed. */
export type ThinkPiece =
  | { readonly type: "answer" | "thinking"; readonly text: string }
  /** A closing tag that was never opened follows: every answer piece so far was thinking. */
  | { readonly type: "unopened" };

const TAGS = ["<think>", "</think>", "<thinking>", "</thinking>"] as const;
const ANY_TAG = /<\/?think(?:ing)?>/i;

export class ThinkFilter {
  #isThinking = false;
  /** The end of what was pushed, as long as it may be the beginning of a tag. */
  #held = "";

  push(text: string): readonly ThinkPiece[] {
    const pieces: ThinkPiece[] = [];
    let rest = this.#held + text;
    for (let tag = ANY_TAG.exec(rest); tag !== null; tag = ANY_TAG.exec(rest)) {
      this.#add(pieces, rest.slice(0, tag.index));
      this.#takeTag(pieces, tag[0]);
      rest = rest.slice(tag.index + tag[0].length);
    }
    const held = heldLength(rest);
    this.#held = rest.slice(rest.length - held);
    this.#add(pieces, rest.slice(0, rest.length - held));
    return pieces;
  }

  /** What was held back is ordinary text after all. */
  end(): readonly ThinkPiece[] {
    const pieces: ThinkPiece[] = [];
    this.#add(pieces, this.#held);
    this.#held = "";
    return pieces;
  }

  #add(pieces: ThinkPiece[], text: string): void {
    if (text !== "") pieces.push({ type: this.#isThinking ? "thinking" : "answer", text });
  }

  #takeTag(pieces: ThinkPiece[], tag: string): void {
    const closes = tag.startsWith("</");
    if (closes && !this.#isThinking) pieces.push({ type: "unopened" });
    this.#isThinking = !closes;
    pieces.push({ type: "thinking", text: tag });
  }
}

/** The answer of a whole text: no think block, a leading one without opening tag included (local-agent §11.8). */
export function withoutThinking(text: string): string {
  if (!ANY_TAG.test(text)) return text;
  const filter = new ThinkFilter();
  let answer = "";
  for (const piece of [...filter.push(text), ...filter.end()]) {
    if (piece.type === "unopened") answer = "";
    else if (piece.type === "answer") answer += piece.text;
  }
  return answer.trimStart();
}

/** Length of the longest end of the text that begins a tag. */
function heldLength(text: string): number {
  const start = text.lastIndexOf("<");
  if (start < 0) return 0;
  const end = text.slice(start).toLowerCase();
  return TAGS.some((tag) => tag.startsWith(end)) ? end.length : 0;
}
