/** What a reading is asked for, and what the ways of reading share (box §13.1). */
import type { ToolEvent } from "../../ports/tool.js";
import { failure } from "../define-tool.js";
import type { BinaryType } from "./file-signature.js";

/** Input of `read`, defaults filled in and the path resolved. */
export interface ReadPlan {
  readonly path: string;
  /** From 1. */
  readonly startLine: number;
  readonly maxLines: number;
  readonly maxBytes: number;
  readonly byteOffset: number;
  readonly encoding: "text" | "base64";
}

/** One sentence instead of bytes: type, size, and a way to the text. */
export function refuseBinary(path: string, sizeBytes: number, binary: BinaryType): ToolEvent {
  return failure(`${JSON.stringify(path)} is no text: ${binary.type}, ${sizeBytes} bytes. ${binary.hint}`);
}
