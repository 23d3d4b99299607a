/** The box of one run: bound once, attachments imported once, exports registered, let go at the end (box §4, §7, §8). */
import type { BoxLease } from "../../box/box-lease.js";
import type { BoxService } from "../../box/box-service.js";
import type { ExportLimits } from "../../box/export-faults.js";
import { exportFiles } from "../../box/export-files.js";
import { type ImportDeps, type ImportLimits, importAttachments } from "../../box/import-attachments.js";
import type { Jobs } from "../../box/jobs.js";
import { listOutbox } from "../../box/list-outbox.js";
import type { ReuseKey } from "../../box/reuse-key.js";
import type { BoxStatus } from "../../domain/box.js";
import { ServiceError } from "../../domain/errors.js";
import type { RunId, SessionId } from "../../domain/ids.js";
import type { SessionRecord } from "../../domain/session.js";
import { CleanupStack } from "../../lib/cleanup-stack.js";
import type { KeyedLock } from "../../lib/keyed-lock.js";
import type { BlobStore } from "../../ports/blob-store.js";
import type { Clock } from "../../ports/clock.js";
import type { FileStore } from "../../ports/file-store.js";
import type { IdSource } from "../../ports/id-source.js";
import type { Logger } from "../../ports/logger.js";
import type { Metrics } from "../../ports/metrics.js";
import type { CallOptions } from "../../ports/options.js";
import type { OutboundFetch } from "../../ports/outbound-fetch.js";
import type {
  AcquiredBox,
  BindBoxOptions,
  BoundBox,
  ImageBytes,
  ImportedAttachment,
} from "../../ports/run-host.js";
import type { RunRecord, RunStore } from "../../ports/run-store.js";
import type { SniffMimeType } from "../../ports/sniff-mime-type.js";
import type { ExportAnswer } from "../../ports/tool.js";
import type { RunToolBox } from "../../ports/tool-source.js";
import { ToolResultFile } from "../../tools/tool-results.js";
import type { RunRecorder } from "../record-run.js";
import { announceFile } from "./announce-file.js";
import { OneBinding } from "./one-binding.js";
import { readImage } from "./read-image.js";
import type { RunGate } from "./run-gate.js";

export interface RunBoxDeps {
  readonly jobs: Pick<Jobs, "of">;
  readonly boxes: Pick<
    BoxService,
    | "acquire"
    | "bind"
    | "describe"
    | "lease"
    | "getSession"
    | "findOrCreateSession"
    | "requireEngine"
    | "requiredReuseKey"
    | "status"
  >;
  readonly runs: RunStore;
  readonly files: FileStore;
  readonly blobs: BlobStore;
  readonly outbound: OutboundFetch;
  readonly sniffMimeType: SniffMimeType;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** One export of a run at a time (box §8.9). */
  readonly exportLocks: KeyedLock<RunId>;
  readonly importLimits: ImportLimits;
  readonly exportLimits: ExportLimits;
}

/** Milliseconds for listing the outbox; a box that hangs must not hold up the run's end. */
const LEAVE_MS = 20_000;

export interface RunBoxOf {
  readonly run: RunRecord;
  readonly recorder: RunRecorder;
  readonly gate: RunGate;
  /** Renders the key of the run's session; null when the run would get none by now. */
  readonly renderKey: () => ReuseKey | null;
}

export class RunBox {
  readonly #deps: RunBoxDeps;
  readonly #run: RunRecord;
  readonly #recorder: RunRecorder;
  readonly #gate: RunGate;
  readonly #renderKey: RunBoxOf["renderKey"];
  readonly #binding = new OneBinding();
  #lease: BoxLease | null = null;
  /** Images that this run has named for boxes it acquired. */
  readonly #images = new Map<SessionId, string | null>();
  /** What tools share with other runs of the box. */
  readonly #toRelease = new CleanupStack();
  #importing: Promise<readonly ImportedAttachment[]> | null = null;
  #attachments: RunRecord["attachments"];
  #sources: RunRecord["attachmentSources"];

  constructor(deps: RunBoxDeps, of: RunBoxOf) {
    this.#deps = deps;
    this.#run = of.run;
    this.#recorder = of.recorder;
    this.#gate = of.gate;
    this.#renderKey = of.renderKey;
    this.#attachments = of.run.attachments;
    this.#sources = of.run.attachmentSources;
  }

  /** What became of the attachments so far. */
  get attachments(): RunRecord["attachments"] {
    return this.#attachments;
  }

  async status(options: CallOptions): Promise<BoxStatus> {
    this.#gate.check();
    return this.#deps.boxes.status(options);
  }

  /** @throws ServiceError `box.forbidden` for a run without a session, and what `BoxService.acquire` fails with */
  async acquire(request: unknown, options: CallOptions): Promise<AcquiredBox> {
    this.#gate.check();
    this.#ownSession();
    using linked = this.#gate.link(options);
    const { session, image } = await this.#deps.boxes.acquire(this.#run.tenant, request, linked);
    this.#images.set(session.id, image);
    const [entry] = await this.#deps.boxes.describe([session], linked);
    return { id: session.id, status: entry?.state ?? "none" };
  }

  /**
   * @throws ServiceError `box.forbidden` for a run without a session, `box.bind_conflict` for another box than the bound
   * one, `session.not_found`, `box.*` when the box cannot be had
   */
  async bind({ box, ...options }: BindBoxOptions): Promise<BoundBox> {
    this.#gate.check();
    const own = this.#ownSession().id;
    const lease = await this.#binding.bind({ box, own, start: (asked) => this.#bind(asked, options) });
    const { session, inbox, outbox, notes } = lease;
    return { sessionId: session.id, inbox, outbox, notes };
  }

  async #bind(box: SessionId | null, options: CallOptions): Promise<BoxLease> {
    const session = this.#ownSession();
    const { id, tenant } = this.#run;
    using linked = this.#gate.link(options);
    const record =
      box === null
        ? await this.#findSession(session.id, linked)
        : await this.#deps.boxes.getSession(tenant, box);
    const image = this.#images.get(record.id);
    const lease = await this.#deps.boxes.bind(record, id, { signal: linked.signal, image });
    this.#lease = lease;
    if (lease.session.id !== session.id) {
      const { id: sessionId, key } = lease.session;
      await this.#deps.runs.update(id, { session: { id: sessionId, key } }, this.#run.epoch);
    }
    return lease;
  }

  #ownSession(): NonNullable<RunRecord["session"]> {
    const { session } = this.#run;
    if (session !== null) return session;
    throw new ServiceError("box.forbidden", "This run has no box.", {
      hint: "Switch box-enabled on and grant one of the box tools.",
    });
  }

  /** A session that was deleted after the message came is made anew: the message gets a new box (box §11.8). */
  async #findSession(id: SessionId, options: CallOptions): Promise<SessionRecord> {
    const { tenant } = this.#run;
    try {
      return await this.#deps.boxes.getSession(tenant, id);
    } catch (error) {
      const key = isGone(error) ? this.#renderKey() : null;
      if (key === null) throw error;
      return this.#deps.boxes.findOrCreateSession(tenant, key, options);
    }
  }

  /** Once per run; asked again, it answers the same entries (box §7.1). */
  async importAttachments(options: CallOptions): Promise<readonly ImportedAttachment[]> {
    this.#gate.check();
    this.#importing ??= this.#import(options);
    return this.#importing;
  }

  async #import(options: CallOptions): Promise<readonly ImportedAttachment[]> {
    const lease = this.#boundLease();
    using linked = this.#gate.link(options);
    const { blobs, outbound } = this.#deps;
    const imported = await importAttachments(
      { blobs, outbound, files: importTo(lease) },
      {
        inbox: lease.inbox,
        attachments: this.#run.input.attachments,
        outcomes: this.#run.attachments,
        sources: this.#sources,
        limits: this.#deps.importLimits,
      },
      linked,
    );
    this.#attachments = imported.outcomes;
    this.#sources = imported.sources;
    const { outcomes: attachments, sources: attachmentSources } = imported;
    await this.#deps.runs.update(this.#run.id, { attachments, attachmentSources }, this.#run.epoch);
    for (const outcome of imported.outcomes) await this.#recorder.emit("attachment.imported", { ...outcome });
    return imported.outcomes.flatMap((outcome, index) => {
      const attachment = this.#run.input.attachments[index];
      return attachment === undefined
        ? []
        : [{ ...outcome, reference: attachment.reference, type: attachment.type }];
    });
  }

  /** The box as a tool may use it; null before the bind (box §4.4). */
  forTools(): RunToolBox | null {
    const lease = this.#lease;
    if (lease === null) return null;
    return {
      runId: this.#run.id,
      sessionId: lease.session.id,
      inbox: lease.inbox,
      outbox: lease.outbox,
      settings: lease.settings,
      handle: lease.handle,
      attachments: this.#attachments,
      jobs: this.#deps.jobs.of(lease.session),
      exportFiles: (paths, options) => this.#export(lease, paths, options),
      hold: (options) => this.#deps.boxes.lease(lease.session, { ...options, kind: "job" }),
      onRelease: (release) => this.#toRelease.defer(release),
    };
  }

  async #export(lease: BoxLease, paths: unknown, options: CallOptions): Promise<ExportAnswer> {
    this.#gate.check();
    const { tenant, id } = this.#run;
    const answer = await exportFiles(
      {
        files: lease.handle.files,
        blobs: this.#deps.blobs,
        fileStore: this.#deps.files,
        locks: this.#deps.exportLocks,
        sniffMimeType: this.#deps.sniffMimeType,
        ids: this.#deps.ids,
        clock: this.#deps.clock,
      },
      { tenant, runId: id, inbox: lease.inbox, outbox: lease.outbox, paths, limits: this.#deps.exportLimits },
      options,
    );
    if (!answer.ok) return answer;
    const exported = new Set(answer.files.map(({ file_id }) => file_id));
    for (const file of await this.#deps.files.listByRun(tenant, id)) {
      if (!exported.has(file.id)) continue;
      await announceFile({ metrics: this.#deps.metrics, recorder: this.#recorder }, file);
    }
    return answer;
  }

  async readImage(reference: string, maxBytes: number, options: CallOptions): Promise<ImageBytes | null> {
    this.#gate.check();
    const index = this.#run.input.attachments.findIndex((item) => item.reference === reference);
    const attachment = this.#run.input.attachments[index];
    const source = this.#sources[index];
    if (attachment?.type !== "image" || source === undefined) return null;
    using linked = this.#gate.link(options);
    return await readImage(this.#deps, { attachment, source, maxBytes }, linked);
  }

  /** @returns the path of the saved text, or null where it cannot be kept */
  async saveToolResult(callId: string, text: string, options: CallOptions): Promise<string | null> {
    this.#gate.check();
    const lease = this.#lease;
    if (lease === null || lease.settings.workspaceMode === "ro") return null;
    using linked = this.#gate.link(options);
    // Output of exec lies under the plain id; the whole result stands beside it.
    const kept = new ToolResultFile(lease.handle.files, `${callId}.txt`);
    kept.add(new TextEncoder().encode(text));
    return (await kept.finish(linked)).ok ? kept.path : null;
  }

  /** The end of the run: what lies in the outbox is listed, what still runs is stopped, the lease is given back. */
  async leave(): Promise<RunRecord["outboxLeft"]> {
    const lease = await this.#binding.settled();
    if (lease === null) return [];
    await using _held = lease;
    await using _shared = this.#toRelease;
    return await listOutbox(lease.handle.files, lease.outbox, { signal: AbortSignal.timeout(LEAVE_MS) });
  }

  #boundLease(): BoxLease {
    if (this.#lease !== null) return this.#lease;
    throw new ServiceError("box.bind_required", "The run's box is not bound yet.", {
      hint: "Bind the box first.",
    });
  }
}

function isGone(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "session.not_found";
}

/** Looked at inside the box; written as its workspace allows. */
function importTo({ handle, importFiles: write }: BoxLease): ImportDeps["files"] {
  return { stat: (paths, options) => handle.files.stat(paths, options), write };
}
