/** Jobs of a session as tools see them, with answers that a test gives. */
import { ServiceError } from "../../src/domain/errors.js";
import type { JobInfo } from "../../src/domain/job.js";
import type { BoxJobs, JobOutput, JobRequest } from "../../src/ports/box-jobs.js";

export const aJob = (fields: Partial<JobInfo> = {}): JobInfo => ({
  id: "job_1",
  status: "running",
  exit_code: null,
  command: "sleep 1000",
  started_at: "2026-01-01T00:00:00.000Z",
  ended_at: null,
  stderr_preview: "",
  output_bytes: 0,
  notes: [],
  ...fields,
});

export class FakeJobs implements BoxJobs {
  /** What was asked for, in order. */
  readonly asked: string[] = [];
  readonly started: JobRequest[] = [];
  jobs: readonly JobInfo[] = [aJob()];
  output: JobOutput = { parts: [], next: 0, droppedBytes: 0 };
  /** Thrown by every call but `list`. */
  failure: Error | null = null;

  async start(request: JobRequest): Promise<JobInfo> {
    this.started.push(request);
    return this.#answer("start", request.id ?? "job_1");
  }

  list(): readonly JobInfo[] {
    return this.jobs;
  }

  async take(id: string, waitMs: number): Promise<{ readonly job: JobInfo; readonly output: JobOutput }> {
    return { job: await this.#answer(`take ${waitMs}`, id), output: this.output };
  }

  async wait(id: string, waitMs: number): Promise<JobInfo> {
    return this.#answer(`wait ${waitMs}`, id);
  }

  async input(id: string, data: Uint8Array | null): Promise<JobInfo> {
    return this.#answer(`input ${data === null ? "end" : Buffer.from(data).toString()}`, id);
  }

  async stop(id: string): Promise<JobInfo> {
    return this.#answer("stop", id);
  }

  async #answer(what: string, id: string): Promise<JobInfo> {
    this.asked.push(`${what} ${id}`);
    await Promise.resolve();
    if (this.failure !== null) throw this.failure;
    const job = this.jobs.find((candidate) => candidate.id === id);
    if (job === undefined) throw new ServiceError("box.process_not_found", `There is no job "${id}".`);
    return job;
  }
}
