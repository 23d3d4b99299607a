/** The current user message, with what is told of its files and of the box (local-agent §4). Pure. */
import { inputText, type RunInput } from "../../domain/event.js";
import type { Message, MessagePart } from "../../domain/message.js";
import type { BoundBox, ImportedAttachment } from "../../ports/run-host.js";
import { attachmentNote } from "./attachment-note.js";
import { imageNote } from "./input-images.js";

type TextPart = Extract<MessagePart, { readonly type: "text" }>;

export interface UserMessageParts {
  readonly input: RunInput;
  readonly imported: readonly ImportedAttachment[];
  /** Data addresses of the images to send, by reference. */
  readonly imageUrls: ReadonlyMap<string, string>;
  readonly box: BoundBox | null;
  /** What is told of an event that is no message; null for one. */
  readonly event: string | null;
}

/** Text alone is a string; everything else a list: text, contents in their order, event, attachment and box note. */
export function buildUserMessage(parts: UserMessageParts): Message {
  const { input, imported, box, event } = parts;
  const contents = input.contents.flatMap((item) => toPart(item, parts));
  const isHeld = contents.some((part) => part.type === "text" && part.text === input.text);
  const said = [...(input.text === null || isHeld ? [] : textParts(input.text)), ...contents];
  const note = attachmentNote(input.attachments, imported);
  const notes = [
    ...textParts(event ?? ""),
    ...textParts(note ?? ""),
    ...(box === null ? [] : textParts(boxNote(box))),
  ];
  const [only] = said;
  if (input.attachments.length > 0 || said.length > 1 || only?.type === "image_url")
    return { role: "user", content: [...said, ...notes] };
  return {
    role: "user",
    content: [inputText(input), ...notes.map(({ text }) => text)].filter(Boolean).join("\n\n"),
  };
}

/** Images keep their place; the attachment note speaks for every other file. */
function toPart(item: RunInput["contents"][number], parts: UserMessageParts): readonly MessagePart[] {
  if (item.type === "text") return textParts(item.text);
  const attachment = parts.input.attachments.find(({ reference }) => reference === item.reference);
  if (attachment?.type !== "image") return [];
  const url = parts.imageUrls.get(item.reference);
  if (url !== undefined) return [{ type: "image_url", image_url: { url } }];
  return [textPart(imageNote(attachment, parts.imported))];
}

function boxNote({ inbox, outbox, notes }: BoundBox): string {
  return [
    "You have a box of your own: a Linux machine with the workspace /workspace, reached through the tools.",
    `Files of this message lie in ${inbox}. Put results into ${outbox}.`,
    "Only export_box_files delivers a file to the user; writing it somewhere does not. Exported sources are removed from the box.",
    ...notes,
  ].join("\n");
}

function textPart(text: string): TextPart {
  return { type: "text", text };
}

/** Empty text is no part: some servers refuse it. */
function textParts(text: string): readonly TextPart[] {
  return text === "" ? [] : [textPart(text)];
}
