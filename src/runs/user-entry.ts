/** The user's message as the transcript keeps it: text, and one line per attachment instead of its bytes (runs §17.4). */
import type { AttachmentOutcome } from "../domain/attachment.js";
import { inputText } from "../domain/event.js";
import type { Message } from "../domain/message.js";
import type { RunRecord } from "../ports/run-store.js";

export function userEntry(run: RunRecord): Message {
  const lines = run.attachments.map((attachment) => attachmentNote(run, attachment));
  const text = inputText(run.input);
  return { role: "user", content: [...(text === "" ? [] : [text]), ...lines].join("\n") };
}

/** One line that stands for a file. */
export function attachmentNote(run: RunRecord, attachment: AttachmentOutcome): string {
  const facts = [attachment.name, attachment.mime_type, sizeText(attachment.bytes)];
  const told = facts.filter((fact) => fact !== null).join(", ");
  return `[attachment ${attachment.index}: ${told}${placeText(run, attachment)}]`;
}

function sizeText(bytes: number | null): string | null {
  return bytes === null ? null : `${bytes} bytes`;
}

/** Where the file will be found in the box; one of an earlier attempt lies where that attempt put it (box §7.8). */
function placeText(run: RunRecord, { state, reason, path, index }: AttachmentOutcome): string {
  if (state === "refused") return `; refused: ${reason ?? "no reason is known"}`;
  if (run.session === null) return "";
  return ` at ${path ?? `/workspace/inbox/${run.id}/${index}/`}`;
}
