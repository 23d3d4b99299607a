/** The text of one reply: what the user sees of it, what is the answer, which calls are written in it (local-agent §11). Pure. */
import type { AssembledCall } from "./assemble-calls.js";
import { TextualCallFilter } from "./textual-calls.js";
import { ThinkFilter, type ThinkPiece } from "./think-filter.js";

export interface ReplyTextOptions {
  readonly removeThink: boolean;
  /** The model closed thinking that it had not opened before: nothing is shown until it did, or the reply ends (§11.6). */
  readonly holdsBack: boolean;
  /** Names of the tools that the request offered. */
  readonly offered: ReadonlySet<string>;
}

export class ReplyText {
  readonly #options: ReplyTextOptions;
  readonly #think = new ThinkFilter();
  #calls: TextualCallFilter;
  #raw = "";
  #answer = "";
  /** The answer without white space before it, kept apart so that long texts need not be trimmed again and again. */
  #trimmedAnswer = "";
  #display = "";
  #hasThinking = false;
  #hasUnopened = false;
  #isReasoningOpen = false;
  #hasEnded = false;
  #hasVisible = false;

  constructor(options: ReplyTextOptions) {
    this.#options = options;
    this.#calls = new TextualCallFilter(options.offered);
  }

  /** As the model sent it. */
  get raw(): string {
    return this.#raw;
  }

  /** Without thinking and without the markup of calls. */
  get answer(): string {
    return this.#hasThinking ? this.#trimmedAnswer : this.#answer;
  }

  /** What the user sees so far. */
  get shown(): string {
    if (!this.#options.removeThink) return this.#display;
    const isHeldBack = this.#options.holdsBack && !this.#hasUnopened && !this.#hasEnded;
    return isHeldBack ? "" : this.answer;
  }

  /** Whether there is something to see: text that is not only white space. */
  get isVisible(): boolean {
    this.#hasVisible ||= this.shown.trim() !== "";
    return this.#hasVisible;
  }

  get calls(): readonly AssembledCall[] {
    return this.#calls.calls;
  }

  get closedUnopenedThinking(): boolean {
    return this.#hasUnopened;
  }

  /** Reasoning that came in a field of its own is shown in think tags (§11.7). */
  pushReasoning(text: string): void {
    if (text === "" || this.#options.removeThink) return;
    if (!this.#isReasoningOpen) this.#display += "<think>";
    this.#isReasoningOpen = true;
    this.#display += text;
  }

  push(text: string): void {
    if (text === "") return;
    if (this.#closeReasoning()) this.#display += "\n\n";
    this.#raw += text;
    this.#take(this.#think.push(text));
  }

  end(): void {
    this.#closeReasoning();
    this.#take(this.#think.end());
    this.#show(this.#calls.end());
    this.#hasEnded = true;
  }

  /** @returns whether there was something to close */
  #closeReasoning(): boolean {
    if (!this.#isReasoningOpen) return false;
    this.#display += "</think>";
    this.#isReasoningOpen = false;
    return true;
  }

  #take(pieces: readonly ThinkPiece[]): void {
    for (const piece of pieces) {
      if (piece.type === "answer") this.#show(this.#calls.push(piece.text));
      else if (piece.type === "thinking") this.#takeThinking(piece.text);
      else this.#withdraw();
    }
  }

  #show(text: string): void {
    this.#answer += text;
    this.#trimmedAnswer += this.#trimmedAnswer === "" ? text.trimStart() : text;
    this.#display += text;
  }

  #takeThinking(text: string): void {
    this.#show(this.#calls.end());
    this.#hasThinking = true;
    this.#display += text;
  }

  /** All that looked like an answer was thinking, calls written in it included. */
  #withdraw(): void {
    this.#show(this.#calls.end());
    this.#answer = "";
    this.#trimmedAnswer = "";
    this.#calls = new TextualCallFilter(this.#options.offered);
    this.#hasThinking = true;
    this.#hasUnopened = true;
    this.#hasVisible = false;
  }
}
