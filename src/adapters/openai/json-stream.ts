/** Reads the JSON values of a stream's data lines: several on one line, or one over several events (local-agent §12.2). Pure. */
import { JsonBalance, splitJsonObjects } from "../../lib/json-values.js";

/** Most characters of what has begun and not ended. */
const MAX_CHARS = 32 * 1024 * 1024;

export class JsonStream {
  /** Data that ends inside a value. */
  #carried = "";
  #balance = new JsonBalance();

  /** @throws SyntaxError for data that is no JSON and cannot become one */
  push(data: string): readonly unknown[] {
    if (this.#carried === "" && !/^\s*(?:\{|$)/.test(data)) throw notAnObject();
    this.#balance.push(data);
    this.#carried += data;
    if (!this.#balance.isClosed) {
      if (this.#carried.length > MAX_CHARS)
        throw new SyntaxError(`A JSON value is longer than ${MAX_CHARS} characters.`);
      return [];
    }
    const { objects, rest } = splitJsonObjects(this.#carried);
    if (rest !== "") throw notAnObject();
    this.#carried = "";
    this.#balance = new JsonBalance();
    return objects.map(parse);
  }

  /** @throws SyntaxError when the stream ends inside a value */
  end(): void {
    if (this.#carried.trim() !== "") throw new SyntaxError("The stream ends inside a JSON value.");
  }
}

function notAnObject(): SyntaxError {
  return new SyntaxError("The stream holds data that is not a JSON object.");
}

/** One value over several lines of one event carries their line breaks, which JSON text may not hold. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return JSON.parse(text.replaceAll("\n", ""));
  }
}
