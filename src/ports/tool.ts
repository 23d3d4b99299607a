/** A tool that the service offers itself, and what it may touch while it runs. */
import type { AttachmentOutcome } from "../domain/attachment.js";
import type { BoxSettings } from "../domain/box.js";
import type { RunId, SessionId } from "../domain/ids.js";
import type { JsonSchema, ToolEffect, ToolOutcome } from "../domain/tool.js";
import type { BoxHandle } from "./box-handle.js";
import type { BoxJobs } from "./box-jobs.js";
import type { CallOptions } from "./options.js";

/** What `export_box_files` answers (box §8.6). */
export interface ExportedFile {
  readonly file_id: string;
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly sha256: string;
  readonly source_removed: boolean;
}

export type ExportAnswer =
  | {
      readonly ok: true;
      readonly files: readonly ExportedFile[];
      readonly warnings: readonly string[];
    }
  | { readonly ok: false; readonly error: string };

/** The bound box of a run, narrowed to what a tool needs. */
export interface ToolBox {
  /** Null for a command that a person runs by hand. */
  readonly runId: RunId | null;
  readonly sessionId: SessionId;
  readonly inbox: string;
  readonly outbox: string;
  readonly settings: BoxSettings;
  readonly handle: BoxHandle;
  readonly attachments: readonly AttachmentOutcome[];
  /** Jobs of the session. */
  readonly jobs: BoxJobs;
  /** Validates, captures and registers the selection, then removes the sources (box §8.2). */
  exportFiles(paths: unknown, options: CallOptions): Promise<ExportAnswer>;
}

/** Live output on its way to the run's events, then the outcome, last. */
export type ToolEvent =
  | { readonly type: "output"; readonly stream: "stdout" | "stderr"; readonly text: string }
  | { readonly type: "outcome"; readonly outcome: ToolOutcome };

export interface NativeTool {
  readonly name: string;
  readonly description: string;
  /** For the model; keywords of local-agent §5.2 only. */
  readonly parameters: JsonSchema;
  readonly effect: ToolEffect;
  /** Needs a workspace that can be written (box §10.2). */
  readonly needsWritableWorkspace: boolean;
  /**
   * Never throws for bad input or an ordinary failure: those are outcomes with one shape, `{ok: false, error}` (box §13).
   * Throws ServiceError for lost engines and aborts.
   */
  run(
    call: { readonly id: string; readonly input: Readonly<Record<string, unknown>> },
    box: ToolBox,
    options: CallOptions,
  ): AsyncIterable<ToolEvent>;
}
