/** A session's box while a person works in it: files by path, and commands through the tool that runs use (api §4). */
import type { HandLease } from "../box/box-lease.js";
import type { Jobs } from "../box/jobs.js";
import {
  listWorkspace,
  openWorkspaceFile,
  removeWorkspaceFile,
  type WorkspaceEntry,
  type WorkspaceFile,
  type WorkspaceListing,
  writeWorkspaceFile,
} from "../box/workspace-files.js";
import { WORKSPACE_ROOT } from "../domain/box.js";
import { ServiceError } from "../domain/errors.js";
import type { IdSource } from "../ports/id-source.js";
import type { CallOptions } from "../ports/options.js";
import type { NativeTool, ToolBox, ToolEvent } from "../ports/tool.js";
import type { StagedFile } from "./staged-file.js";

/** Input of the tool `exec`. */
export interface HandCommand {
  readonly command: string;
  readonly workdir?: string | undefined;
  readonly timeout_sec?: number | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

export interface OpenSessionDeps {
  readonly lease: HandLease;
  readonly exec: NativeTool;
  readonly ids: IdSource;
  readonly jobs: Pick<Jobs, "of">;
}

/** Paths are normalised ones below /workspace. */
export class OpenSession implements AsyncDisposable {
  readonly #deps: OpenSessionDeps;

  constructor(deps: OpenSessionDeps) {
    this.#deps = deps;
  }

  /** What was lost since the session was used last, one sentence each. */
  get notes(): readonly string[] {
    return this.#deps.lease.notes;
  }

  async list(path: string, depth: number, options: CallOptions): Promise<WorkspaceListing> {
    return listWorkspace(this.#files, { path, depth }, options);
  }

  async openFile(path: string, options: CallOptions): Promise<WorkspaceFile> {
    return openWorkspaceFile(this.#files, path, options);
  }

  /** @throws ServiceError `box.forbidden` where the workspace is read-only */
  async writeFile(path: string, staged: StagedFile, options: CallOptions): Promise<WorkspaceEntry> {
    this.#refuseReadOnly();
    const request = { path, sizeBytes: staged.sizeBytes, content: staged.read(options) };
    return writeWorkspaceFile(this.#files, request, options);
  }

  /** @throws ServiceError `box.forbidden` where the workspace is read-only */
  async removeFile(path: string, recursive: boolean, options: CallOptions): Promise<void> {
    this.#refuseReadOnly();
    await removeWorkspaceFile(this.#files, { path, recursive }, options);
  }

  /** Live output, then the outcome, last. Aborting stops the command with all it started (box §12.3). */
  run(command: HandCommand, options: CallOptions): AsyncIterable<ToolEvent> {
    const { exec, ids } = this.#deps;
    return exec.run({ id: `hand-${ids.randomHex(16)}`, input: { ...command } }, this.#toolBox(), options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#deps.lease[Symbol.asyncDispose]();
  }

  get #files(): HandLease["handle"]["files"] {
    return this.#deps.lease.handle.files;
  }

  #refuseReadOnly(): void {
    if (this.#deps.lease.settings.workspaceMode === "rw") return;
    throw new ServiceError("box.forbidden", "The workspaces of this service are read-only.", {
      hint: "The operator can change boxes.profile or boxes.workspace_mode.",
    });
  }

  /** No run is there, so the directories of all runs stand for its own. */
  #toolBox(): ToolBox {
    const { session, handle, settings } = this.#deps.lease;
    return {
      runId: null,
      sessionId: session.id,
      inbox: `${WORKSPACE_ROOT}/inbox`,
      outbox: `${WORKSPACE_ROOT}/outbox`,
      settings,
      handle,
      attachments: [],
      jobs: this.#deps.jobs.of(session),
      exportFiles: async () => ({ ok: false, error: "Only a run can export files." }),
    };
  }
}
