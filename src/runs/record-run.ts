/** Writes what happens in one run to ledger and transcript, as it happens, and remembers what its end needs (runs §17.6, §18). */
import { type Message, messageText } from "../domain/message.js";
import type { FinishReason, RunnerResult, RunWarning } from "../domain/result.js";
import type { RunError, RunEventType } from "../domain/run.js";
import { NO_USAGE, type Usage } from "../domain/usage.js";
import type { SecretMask } from "../lib/secret-mask.js";
import type { Clock } from "../ports/clock.js";
import type { RunEvents } from "../ports/run-events.js";
import type { RunRecord, RunStore } from "../ports/run-store.js";
import type { SteeringItem, SteeringStore } from "../ports/steering-store.js";
import type { NewTranscriptItem, TranscriptStore } from "../ports/transcript-store.js";
import { redactInline } from "./redact-inline.js";
import { toTime } from "./run-object.js";
import { VisibleText } from "./visible-text.js";

/** Warnings that a run carries; what comes after them is told as one. */
const MAX_WARNINGS = 100;
const MAX_WARNING_CHARS = 2000;

type DataOf<Type extends RunnerResult["type"]> = Extract<RunnerResult, { readonly type: Type }>["data"];

export interface RecorderDeps {
  readonly runs: RunStore;
  readonly transcripts: TranscriptStore;
  readonly steering: SteeringStore;
  readonly events: RunEvents;
  readonly clock: Clock;
  /** Goes over everything that is written, so that no event and no history holds a secret (box §10.7). */
  readonly mask: SecretMask;
}

export type RunnerVerdict =
  | { readonly state: "completed"; readonly finishReason: FinishReason }
  | { readonly state: "failed"; readonly error: RunError };

/** What a run has come to so far. */
export interface RunProgress {
  /** As the user sees it; empty = nothing yet. */
  readonly text: string;
  readonly verdict: RunnerVerdict | null;
  readonly warnings: readonly RunWarning[];
  readonly usage: Usage;
  readonly model: string | null;
  readonly toolRounds: number;
  /** A `message.completed` came, so a stream without a terminal result still counts as completed (runs §18.6). */
  readonly hasCompleteMessage: boolean;
}

export class RunRecorder {
  readonly #deps: RecorderDeps;
  readonly #run: RunRecord;
  readonly #onLost: () => void;
  readonly #shown = new VisibleText();
  readonly #warnings: RunWarning[] = [];
  #lastMessage: string | null = null;
  /** Visible text that the transcript has already, in messages with calls. */
  #storedText = "";
  /** Snapshots that were shown. */
  #snapshots = 0;
  #isLost = false;
  #verdict: RunnerVerdict | null = null;
  #usage: Usage = NO_USAGE;
  #model: string | null = null;
  #toolRounds = 0;

  /** @param onLost stops the run: it is another worker's, or has ended */
  constructor(deps: RecorderDeps, run: RunRecord, onLost: () => void = () => undefined) {
    this.#deps = deps;
    this.#run = run;
    this.#onLost = onLost;
  }

  get progress(): RunProgress {
    return {
      text: this.#shown.text,
      verdict: this.#verdict,
      warnings: this.#warnings,
      usage: this.#usage,
      model: this.#model,
      toolRounds: this.#toolRounds,
      hasCompleteMessage: this.#lastMessage !== null,
    };
  }

  /** Stores an event, then wakes its readers: nothing is shown that is not stored (design §1.8). */
  async emit(type: RunEventType, shown: Readonly<Record<string, unknown>>): Promise<void> {
    const timestamp = toTime(this.#deps.clock.now());
    const data = this.#deps.mask.value(shown);
    const { id, epoch } = this.#run;
    const event = await this.#deps.runs.appendEvent(id, { type, data, timestamp }, epoch);
    if (event === null) this.#lose();
    else this.#deps.events.notify(id, event.sequence);
  }

  /**
   * Takes messages that arrived while the run goes on (runs §14.4).
   * @param after the reply that they follow; it is in the history before them
   */
  async pullSteering(limit: number, after: Message | null): Promise<readonly SteeringItem[]> {
    const { id, epoch } = this.#run;
    const reply = after === null ? null : this.#deps.mask.value(after);
    const before = reply === null ? null : this.#toItem(reply, false);
    const now = this.#deps.clock.now();
    const pulled = await this.#deps.steering.pull(id, { epoch, limit, now, before });
    if (pulled === null) this.#lose();
    if (pulled === null || pulled.messages.length === 0) return [];
    if (reply !== null) {
      this.#shown.complete(messageText(reply));
      this.#storedText = this.#shown.text;
    }
    this.#deps.events.notify(id, pulled.sequence);
    return pulled.messages;
  }

  /** Another worker has the run, or has ended it: whoever writes here stops. */
  #lose(): void {
    this.#isLost = true;
    this.#onLost();
  }

  /** The run is not this worker's any more, and nothing of it may be written. */
  get isLost(): boolean {
    return this.#isLost;
  }

  async warn(told: RunWarning): Promise<void> {
    if (this.#warnings.length > MAX_WARNINGS) return;
    const { code, message } = this.#deps.mask.value(told);
    const warning =
      this.#warnings.length < MAX_WARNINGS
        ? { code, message: message.slice(0, MAX_WARNING_CHARS) }
        : { code: "run.more_warnings", message: `Warnings after the first ${MAX_WARNINGS} are left out.` };
    this.#warnings.push(warning);
    await this.emit("warning", warning);
  }

  async take(given: RunnerResult): Promise<void> {
    const result = this.#deps.mask.value(given);
    if (result.usage !== undefined) this.#usage = result.usage;
    switch (result.type) {
      case "message.delta":
        this.#shown.stream(result.data.chunk.content);
        return this.emit(result.type, { chunk: this.#openChunk(result.data.chunk) });
      case "message.completed":
        return this.#completeMessage(result.data);
      case "tool.call.started":
        return this.#startTool(result.data);
      case "tool.call.completed":
        return this.#completeTool(result.data);
      case "run.completed":
        return this.#complete(result.data);
      case "run.failed":
        return this.#fail(result.data);
      case "state.updated":
      case "action.requested":
        return this.emit(result.type, result.data);
      default:
        return this.warn(result.data);
    }
  }

  /**
   * Snapshots are numbered over the whole run, whatever the runner says of them (runs §21.2). A text that goes on may end
   * in the first part of a secret, which the next snapshot will hold whole.
   */
  #openChunk(chunk: DataOf<"message.delta">["chunk"]): DataOf<"message.delta">["chunk"] {
    this.#snapshots += 1;
    const content = chunk.is_final === true ? chunk.content : this.#deps.mask.openText(chunk.content);
    return { ...chunk, content, msg_sequence: this.#snapshots };
  }

  /** Writes the one final assistant message that a stream alone, or a failed run, has left (runs §18.9). */
  async closeTranscript(text: string, isPartial: boolean): Promise<void> {
    if (this.#lastMessage !== null) return;
    const content = text.startsWith(this.#storedText)
      ? text.slice(this.#storedText.length).trimStart()
      : text;
    if (content !== "") await this.#appendMessage({ role: "assistant", content }, isPartial);
  }

  async #completeMessage(data: DataOf<"message.completed">): Promise<void> {
    const { message, history_message, file_ids } = data;
    const isFirst = this.#lastMessage === null;
    this.#lastMessage = messageText(message);
    this.#shown.complete(this.#lastMessage);
    if (isFirst) await this.#appendMessage(history_message ?? message, false);
    const files = file_ids === undefined ? {} : { file_ids };
    await this.emit("message.completed", { message: redactInline(message), ...files });
  }

  async #startTool({ assistant_message, ...shown }: DataOf<"tool.call.started">): Promise<void> {
    if (assistant_message !== undefined) {
      this.#toolRounds += 1;
      this.#shown.complete(messageText(assistant_message));
      this.#storedText = this.#shown.text;
      await this.#appendMessage(assistant_message, false);
    }
    await this.emit("tool.call.started", shown);
  }

  async #completeTool({ model_text, ...shown }: DataOf<"tool.call.completed">): Promise<void> {
    const content = model_text ?? shown.error ?? JSON.stringify(shown.result ?? null);
    await this.#appendMessage({ role: "tool", tool_call_id: shown.tool_call_id, content }, false);
    await this.emit("tool.call.completed", shown);
  }

  /** A message in it is delivered, unless it is the one that came before. */
  async #complete(data: DataOf<"run.completed">): Promise<void> {
    const { message } = data;
    if (message !== undefined && messageText(message) !== this.#lastMessage)
      await this.#completeMessage({ message });
    for (const warning of data.warnings ?? []) await this.warn(warning);
    this.#count(data);
    this.#verdict = { state: "completed", finishReason: data.finish_reason ?? "stop" };
  }

  #fail(data: DataOf<"run.failed">): void {
    this.#count(data);
    this.#verdict = { state: "failed", error: toRunError(data) };
  }

  #count(data: { readonly model?: string | undefined; readonly tool_rounds?: number | undefined }): void {
    this.#model = data.model ?? this.#model;
    this.#toolRounds = data.tool_rounds ?? this.#toolRounds;
  }

  async #appendMessage(message: Message, partial: boolean): Promise<void> {
    await this.#deps.transcripts.append(this.#toItem(message, partial));
  }

  #toItem(message: Message, partial: boolean): NewTranscriptItem {
    return {
      tenant: this.#run.tenant,
      conversation: this.#run.conversation,
      runId: this.#run.id,
      eventId: null,
      message: redactInline(message),
      partial,
      createdAt: this.#deps.clock.now(),
      epoch: this.#run.epoch,
    };
  }
}

function toRunError({ code, error, retryable, hint }: DataOf<"run.failed">): RunError {
  return { code, message: error, retryable, ...(hint === undefined ? {} : { hint }) };
}
