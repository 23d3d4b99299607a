/** Which jobs there are: those that run, and for a while those that have ended (box §14.1). */
import { ServiceError } from "../domain/errors.js";
import type { SessionId } from "../domain/ids.js";
import type { Clock } from "../ports/clock.js";
import type { Job } from "./job.js";

export interface JobRecordsSettings {
  /** Records of jobs that have ended, of all tenants. */
  readonly maxEnded: number;
  /** How long such a record is kept. */
  readonly endedTtlSec: number;
}

export class JobRecords {
  readonly #deps: { readonly clock: Clock };
  readonly #settings: JobRecordsSettings;
  readonly #jobs = new Map<SessionId, Map<string, Job>>();

  constructor(deps: { readonly clock: Clock }, settings: JobRecordsSettings) {
    this.#deps = deps;
    this.#settings = settings;
  }

  /** Of all sessions. */
  get all(): readonly Job[] {
    return [...this.#jobs.keys()].flatMap((sessionId) => this.of(sessionId));
  }

  /** Jobs that run or are cleared away. */
  get runningCount(): number {
    return this.all.filter(({ process }) => !process.isClosed).length;
  }

  /** Oldest first. */
  of(sessionId: SessionId): readonly Job[] {
    return [...(this.#jobs.get(sessionId)?.values() ?? [])];
  }

  get(sessionId: SessionId, id: string): Job | null {
    return this.#jobs.get(sessionId)?.get(id) ?? null;
  }

  /** @throws ServiceError `box.process_not_found` */
  find(sessionId: SessionId, id: string): Job {
    this.prune();
    const job = this.get(sessionId, id);
    if (job !== null) return job;
    throw new ServiceError(
      "box.process_not_found",
      `The session has no job ${JSON.stringify(id.slice(0, 100))}.`,
      { hint: `List its jobs. Ended ones are forgotten after ${this.#settings.endedTtlSec} s.` },
    );
  }

  /** One of the same id, which has ended, makes way for it. */
  keep(sessionId: SessionId, job: Job): void {
    this.prune();
    const jobs = this.#jobs.get(sessionId) ?? new Map<string, Job>();
    // The newest stands last.
    jobs.delete(job.id);
    jobs.set(job.id, job);
    this.#jobs.set(sessionId, jobs);
  }

  forgetAll(sessionId: SessionId): void {
    this.#jobs.delete(sessionId);
  }

  /** Forgets records of ended jobs that are too old, and the oldest where there are too many. */
  prune(): void {
    const { maxEnded, endedTtlSec } = this.#settings;
    const oldest = this.#deps.clock.elapsed() - endedTtlSec * 1000;
    const ended = [...this.#jobs.keys()].flatMap((sessionId) =>
      this.of(sessionId).flatMap((job) => {
        const { endedAt, isClosed } = job.process;
        return endedAt === null || !isClosed ? [] : [{ sessionId, job, at: endedAt.elapsed }];
      }),
    );
    const surplus = ended.length - maxEnded;
    for (const [index, { sessionId, job, at }] of ended.toSorted((one, other) => one.at - other.at).entries())
      if (index < surplus || at <= oldest) this.#forget(sessionId, job.id);
  }

  #forget(sessionId: SessionId, id: string): void {
    const jobs = this.#jobs.get(sessionId);
    jobs?.delete(id);
    if (jobs?.size === 0) this.#jobs.delete(sessionId);
  }
}
