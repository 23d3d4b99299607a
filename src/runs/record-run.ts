/** Writes what happens in one run to ledger and transcript, as it happens, and remembers what its end needs (runs §17.6, §18). */
import type { Message } from "../domain/message.js";
import type { FinishReason, RunnerResult, RunWarning } from "../domain/result.js";
import type { RunEventType } from "../domain/run.js";
import { NO_USAGE, type Usage } from "../domain/usage.js";
import type { Clock } from "../ports/clock.js";
import type { RunEvents } from "../ports/run-events.js";
import type { RunRecord, RunStore } from "../ports/run-store.js";
import type { TranscriptStore } from "../ports/transcript-store.js";
import { toTime } from "./run-object.js";

export interface RecorderDeps {
  readonly runs: RunStore;
  readonly transcripts: TranscriptStore;
  readonly events: RunEvents;
  readonly clock: Clock;
}

export type RunnerVerdict =
  | { readonly state: "completed"; readonly finishReason: FinishReason }
  | {
      readonly state: "failed";
      readonly code: string;
      readonly message: string;
      readonly retryable: boolean;
    };

/** What a run has come to so far. */
export interface RunProgress {
  /** Visible text: the last snapshot, else the complete messages in order (runs §21). Empty = none yet. */
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
  readonly #warnings: RunWarning[] = [];
  readonly #completeTexts: string[] = [];
  #snapshot = "";
  #verdict: RunnerVerdict | null = null;
  #usage: Usage = NO_USAGE;
  #model: string | null = null;
  #toolRounds = 0;
  #hasAssistantEntry = false;

  constructor(deps: RecorderDeps, run: RunRecord) {
    this.#deps = deps;
    this.#run = run;
  }

  get progress(): RunProgress {
    return {
      text: this.#snapshot === "" ? this.#completeTexts.join("\n\n") : this.#snapshot,
      verdict: this.#verdict,
      warnings: this.#warnings,
      usage: this.#usage,
      model: this.#model,
      toolRounds: this.#toolRounds,
      hasCompleteMessage: this.#completeTexts.length > 0,
    };
  }

  /** Stores an event, then wakes its readers: nothing is shown that is not stored (design §1.8). */
  async emit(type: RunEventType, data: Readonly<Record<string, unknown>>): Promise<void> {
    const timestamp = toTime(this.#deps.clock.now());
    const event = await this.#deps.runs.appendEvent(this.#run.id, { type, data, timestamp });
    if (event !== null) this.#deps.events.notify(this.#run.id, event.sequence);
  }

  async warn(warning: RunWarning): Promise<void> {
    this.#warnings.push(warning);
    await this.emit("warning", warning);
  }

  async take(result: RunnerResult): Promise<void> {
    if (result.usage !== undefined) this.#usage = result.usage;
    switch (result.type) {
      case "message.delta":
        this.#snapshot = result.data.chunk.content;
        return this.emit(result.type, result.data);
      case "message.completed":
        return this.#completeMessage(result.data.message);
      case "tool.call.started": {
        const { assistant_message, ...shown } = result.data;
        if (assistant_message !== undefined) {
          this.#toolRounds += 1;
          this.#collectText(assistant_message);
          await this.#appendMessage(assistant_message, false);
        }
        return this.emit(result.type, shown);
      }
      case "tool.call.completed":
        return this.#completeTool(result.data);
      case "warning":
        return this.warn(result.data);
      case "state.updated":
        return this.warn({ code: "state.unavailable", message: "This service keeps no runner state yet." });
      case "action.requested":
        return this.emit(result.type, result.data);
      case "run.completed":
        return this.#complete(result.data);
      case "run.failed":
        this.#model = result.data.model ?? this.#model;
        this.#verdict = { state: "failed", message: result.data.error, ...pickFailure(result.data) };
        return undefined;
    }
  }

  /** Writes the one final assistant message that a stream alone, or a failed run, has left (runs §18.9). */
  async closeTranscript(text: string, isPartial: boolean): Promise<void> {
    if (this.#hasAssistantEntry || text === "") return;
    this.#hasAssistantEntry = true;
    await this.#appendMessage({ role: "assistant", content: text }, isPartial);
  }

  async #completeMessage(message: Message): Promise<void> {
    this.#collectText(message);
    if (!this.#hasAssistantEntry) {
      this.#hasAssistantEntry = true;
      await this.#appendMessage(message, false);
    }
    await this.emit("message.completed", { message });
  }

  async #completeTool(data: Extract<RunnerResult, { type: "tool.call.completed" }>["data"]): Promise<void> {
    const { model_text, ...shown } = data;
    const content = model_text ?? data.error ?? JSON.stringify(data.result ?? null);
    await this.#appendMessage({ role: "tool", tool_call_id: data.tool_call_id, content }, false);
    await this.emit("tool.call.completed", shown);
  }

  async #complete(data: Extract<RunnerResult, { type: "run.completed" }>["data"]): Promise<void> {
    if (data.message !== undefined) await this.#completeMessage(data.message);
    for (const warning of data.warnings ?? []) await this.warn(warning);
    this.#model = data.model ?? this.#model;
    this.#verdict = { state: "completed", finishReason: data.finish_reason ?? "stop" };
  }

  #collectText(message: Message): void {
    if (typeof message.content === "string" && message.content !== "")
      this.#completeTexts.push(message.content);
  }

  async #appendMessage(message: Message, partial: boolean): Promise<void> {
    await this.#deps.transcripts.append({
      tenant: this.#run.tenant,
      conversation: this.#run.conversation,
      runId: this.#run.id,
      eventId: null,
      message,
      partial,
      createdAt: this.#deps.clock.now(),
    });
  }
}

function pickFailure(data: { code: string; retryable: boolean }): { code: string; retryable: boolean } {
  return { code: data.code, retryable: data.retryable };
}
