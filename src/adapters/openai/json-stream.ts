/** Reads the JSON values of a stream's data lines: several on one line, or one over several events (local-agent §12.2). Pure. */
import { splitJsonObjects } from "../../lib/json-values.js";

export class JsonStream {
  /** A value that has begun and not ended. */
  #carried = "";

  /** @throws SyntaxError for data that is no JSON and cannot become one */
  push(data: string): readonly unknown[] {
    const text = this.#carried + data;
    const { objects, rest } = splitJsonObjects(text);
    if (rest.trim() !== "" && !rest.startsWith("{"))
      throw new SyntaxError("The stream holds data that is not a JSON object.");
    this.#carried = rest.trim() === "" ? "" : rest;
    return objects.map(parse);
  }

  /** @throws SyntaxError when the stream ends inside a value */
  end(): void {
    if (this.#carried !== "") throw new SyntaxError("The stream ends inside a JSON value.");
  }
}

/** One value over several lines of one event carries their line breaks, which JSON text may not hold. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return JSON.parse(text.replaceAll("\n", ""));
  }
}
