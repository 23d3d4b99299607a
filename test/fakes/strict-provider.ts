/** What a real provider refuses in a chat-completions request (cases.md, preamble: "strict"). */
import type { WireCall, WireMessage, WireRequest } from "./scripted-model-server.js";

const MAX_ID_CHARS = 40;

/** @returns one sentence per fault; empty when a real provider would answer */
export function findRequestFaults(request: WireRequest): readonly string[] {
  const messages = request.messages ?? [];
  return [
    ...(Array.isArray(request.tools) && request.tools.length === 0 ? ["tools must not be empty."] : []),
    ...messages.flatMap((message, i) => [...findContentFaults(message, i), ...findCallFaults(message, i)]),
    ...findPairingFaults(messages),
  ];
}

function findContentFaults({ role, content, tool_calls: calls }: WireMessage, i: number): readonly string[] {
  const hasCalls = (calls?.length ?? 0) > 0;
  if (content === null || content === undefined)
    return role === "assistant" && hasCalls ? [] : [`messages[${i}] has no content.`];
  if (content === "") return [`messages[${i}] has an empty text.`];
  if (!Array.isArray(content)) return [];
  return content.some((part: unknown) => isEmptyText(part))
    ? [`messages[${i}] has an empty text block.`]
    : [];
}

function findCallFaults({ tool_calls: calls }: WireMessage, i: number): readonly string[] {
  if (calls?.length === 0) return [`messages[${i}] has an empty list of calls.`];
  const ids = (calls ?? []).map(({ id }) => id);
  return [
    ...(new Set(ids).size === ids.length ? [] : [`messages[${i}] has an id twice.`]),
    ...(calls ?? []).flatMap((call) => findOneCallFaults(call, i)),
  ];
}

function findOneCallFaults(call: WireCall, i: number): readonly string[] {
  const id = call.id ?? "";
  const name = call.function?.name ?? "";
  return [
    ...(id.length > 0 && id.length <= MAX_ID_CHARS
      ? []
      : [`messages[${i}] has a call id of ${id.length} characters.`]),
    ...(name === "" ? [`messages[${i}] has a call without a name.`] : []),
    ...(isObjectText(call.function?.arguments)
      ? []
      : [`messages[${i}] has arguments that are no JSON object.`]),
  ];
}

/** The calls of a message are answered right behind it, each once. */
function findPairingFaults(messages: readonly WireMessage[]): readonly string[] {
  const faults: string[] = [];
  let open: string[] = [];
  for (const [i, message] of messages.entries()) {
    if (message.role === "tool") {
      const at = open.indexOf(message.tool_call_id ?? "");
      if (at < 0) faults.push(`messages[${i}] answers no call.`);
      else open.splice(at, 1);
      continue;
    }
    if (open.length > 0) faults.push(`Before messages[${i}] the calls ${open.join(", ")} have no answer.`);
    open = (message.tool_calls ?? []).map(({ id }) => id ?? "");
  }
  return open.length > 0 ? [...faults, `At the end the calls ${open.join(", ")} have no answer.`] : faults;
}

function isEmptyText(part: unknown): boolean {
  return typeof part === "object" && part !== null && "text" in part && part.text === "";
}

function isObjectText(text: unknown): boolean {
  if (typeof text !== "string") return false;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
