/** Steps of a scripted model that depend on what the run told it. */
import { z } from "zod";
import { messageText } from "../../src/domain/message.js";
import type { ChatRequest } from "../../src/ports/chat-model.js";
import { calls, type Step, text } from "../fakes/scripted-model.js";

/** The run's own directory, as the box note names it. */
export function outboxOf(request: ChatRequest): string {
  return directoryOf(request, /\/workspace\/outbox\/run_[A-Za-z0-9]+/);
}

export function inboxOf(request: ChatRequest): string {
  return directoryOf(request, /\/workspace\/inbox\/run_[A-Za-z0-9]+/);
}

function directoryOf(request: ChatRequest, pattern: RegExp): string {
  const user = request.messages.findLast((message) => message.role === "user");
  const path = pattern.exec(user === undefined ? "" : messageText(user))?.[0];
  if (path === undefined) throw new Error("The user message names no such directory.");
  return path;
}

/** A step that is made when the request is known. */
export function late(make: (request: ChatRequest) => Step): Step {
  return (request, options) => make(request)(request, options);
}

/** A reply of text that is made when the request is known. */
export function says(make: (request: ChatRequest) => string): Step {
  return late((request) => text(make(request)));
}

/** One exec call. */
export function runs(command: string, more: Readonly<Record<string, unknown>> = {}): Step {
  return calls([{ name: "exec", arguments: { command, ...more } }]);
}

/** One export of files of the run's outbox, or of absolute paths. */
export function exports(...names: readonly string[]): Step {
  return late((request) => {
    const paths = names.map((name) => (name.startsWith("/") ? name : `${outboxOf(request)}/${name}`));
    return calls([{ name: "export_box_files", arguments: { paths } }]);
  });
}

/** What the tools answered since the last assistant message, in order. */
export function lastToolResults(request: ChatRequest): readonly string[] {
  const last = request.messages.findLastIndex((message) => message.role === "assistant");
  return request.messages
    .slice(last + 1)
    .filter((message) => message.role === "tool")
    .map(messageText);
}

const execResult = z.object({ stdout: z.string(), exit_code: z.number().nullable() });

/** What the last exec gave, read from the tool message. */
export function lastExec(request: ChatRequest): z.infer<typeof execResult> {
  return execResult.parse(JSON.parse(lastToolResults(request)[0] ?? "{}"));
}

/** A reply that repeats what the last exec wrote to stdout. */
export function saysStdout(): Step {
  return says((request) => lastExec(request).stdout || "(nothing)");
}

/** Everything the model was told, as one text. */
export function wholeText(request: ChatRequest): string {
  return request.messages.map(messageText).join("\n");
}
