/** Puts together the messages with which a run begins, in the order of local-agent §2.1. Equal inputs give equal bytes. */
import type { Message } from "../../domain/message.js";
import type { RunContext } from "../../domain/run-context.js";
import type { CallOptions } from "../../ports/options.js";
import type { RunHost } from "../../ports/run-host.js";
import type { AgentConfig } from "./config.js";
import { eventNote } from "./event-note.js";
import { fetchHistory } from "./fetch-history.js";
import { readInputImages } from "./input-images.js";
import { dateLine, OLDER_LEFT_OUT, readPrompt } from "./prompt.js";
import type { BoxSetup } from "./set-up-box.js";
import { buildUserMessage } from "./user-message.js";

export interface AssembledPrompt {
  readonly messages: readonly Message[];
  /** See `WireOptions.imageNotes`. */
  readonly imageNotes: ReadonlyMap<string, string>;
}

export interface PromptInputs {
  readonly host: RunHost;
  readonly config: AgentConfig;
  readonly setup: BoxSetup;
  /** Unix milliseconds. */
  readonly now: number;
}

/** @throws ServiceError `runner.invalid_prompt`, and whatever the host refuses */
export async function assemblePrompt(
  context: RunContext,
  { host, config, setup, now }: PromptInputs,
  options: CallOptions,
): Promise<AssembledPrompt> {
  const prompt = await readPrompt(context, { host, configured: config.prompt }, options);
  const history = await fetchHistory(context, { host, limit: config.historyFetchLimit }, options);
  const { imported, box } = setup;
  const canSee = config.models.some(({ abilities }) => abilities.includes("vision"));
  const attachments = canSee ? context.input.attachments : [];
  const images = await readInputImages(attachments, { host, imported }, options);
  const event = eventNote(context);
  const user = buildUserMessage({ input: context.input, imported, imageUrls: images.urls, box, event });
  const messages = [
    ...prompt,
    ...(config.dateGrounding ? [dateLine(now)] : []),
    ...(history.hasOlder ? [OLDER_LEFT_OUT] : []),
    ...history.messages,
    user,
  ];
  return { messages, imageNotes: images.notes };
}
