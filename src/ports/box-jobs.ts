/** The jobs of one session, as tools may use them (box §14). A job outlives the run that started it. */
import type { JobInfo } from "../domain/job.js";
import type { CallOptions } from "./options.js";

export interface JobRequest {
  /** A running job of the same id is replaced; absent = a new id. */
  readonly id?: string | undefined;
  /** Run with sh -lc. */
  readonly command: string;
  /** Absolute path below /workspace, created if missing. */
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A piece of output, byte-exact. */
export interface OutputPart {
  readonly stream: "stdout" | "stderr";
  readonly bytes: Uint8Array;
}

/** What a job said. Offsets count the bytes of both streams together, in order of arrival. */
export interface JobOutput {
  readonly parts: readonly OutputPart[];
  /** Where the next poll begins. */
  readonly next: number;
  /** Bytes between the offset asked for and the first part that are not kept any more. */
  readonly droppedBytes: number;
}

/** Unknown ids, and ended jobs where a running one is needed: ServiceError `box.process_not_found`. */
export interface BoxJobs {
  /** @throws ServiceError `box.capacity` when the service has too many jobs; as `exec` where the command cannot be run */
  start(request: JobRequest, options: CallOptions): Promise<JobInfo>;
  /** Running ones and those that ended lately, newest first. */
  list(): readonly JobInfo[];
  /** What came since the last `take` of the job, waiting at most `waitMs` for something. */
  take(
    id: string,
    waitMs: number,
    options: CallOptions,
  ): Promise<{ readonly job: JobInfo; readonly output: JobOutput }>;
  /** Waits at most `waitMs` for the end. */
  wait(id: string, waitMs: number, options: CallOptions): Promise<JobInfo>;
  /** @param data null = the end of the input */
  input(id: string, data: Uint8Array | null, options: CallOptions): Promise<JobInfo>;
  /** TERM, and after 5 s the end of the whole tree. */
  stop(id: string, options: CallOptions): Promise<JobInfo>;
}
