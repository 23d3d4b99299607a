/** The user's message as the transcript keeps it: text, and one line per attachment instead of its bytes (runs §17.4). */
import { inputText } from "../domain/event.js";
import type { Message } from "../domain/message.js";
import type { RunRecord } from "../ports/run-store.js";

export function userEntry(run: RunRecord): Message {
  const lines = run.attachments.map((attachment) => {
    const facts = [attachment.name, attachment.mime_type, sizeText(attachment.bytes)].filter(
      (fact) => fact !== null,
    );
    const place = run.session === null ? "" : ` at /workspace/inbox/${run.id}/${attachment.index}/`;
    return `[attachment ${attachment.index}: ${facts.join(", ")}${place}]`;
  });
  const text = inputText(run.input);
  return { role: "user", content: [...(text === "" ? [] : [text]), ...lines].join("\n") };
}

function sizeText(bytes: number | null): string | null {
  return bytes === null ? null : `${bytes} bytes`;
}
