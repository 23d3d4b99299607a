/** Jobs of all sessions: started, found, followed and ended; each keeps its box awake while it runs (box §14). */
import { ServiceError } from "../domain/errors.js";
import type { SessionId } from "../domain/ids.js";
import { type JobInfo, jobIdSchema } from "../domain/job.js";
import type { SessionRecord } from "../domain/session.js";
import { CleanupStack } from "../lib/cleanup-stack.js";
import { KeyedLock } from "../lib/keyed-lock.js";
import { linkSignals } from "../lib/link-signals.js";
import type { SecretMask } from "../lib/secret-mask.js";
import { TimeLimit } from "../lib/time-limit.js";
import type { BoxJobs, JobOutput, JobRequest } from "../ports/box-jobs.js";
import type { Clock } from "../ports/clock.js";
import type { IdSource } from "../ports/id-source.js";
import type { Logger } from "../ports/logger.js";
import type { CallOptions } from "../ports/options.js";
import type { HandLease } from "./box-lease.js";
import type { LeaseOptions } from "./box-service.js";
import { Job } from "./job.js";
import { JobRecords, type JobRecordsSettings } from "./job-records.js";
import type { OutputFollower } from "./managed-process.js";
import { SessionStarts } from "./session-starts.js";

export interface JobsDeps {
  /** A right to use the box of a session. */
  readonly lease: (session: SessionRecord, options: LeaseOptions) => Promise<HandLease>;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly logger: Logger;
  /** Takes secrets out of commands and output that are shown (box §10.7). */
  readonly mask: SecretMask;
}

export interface JobsSettings extends JobRecordsSettings {
  /** Jobs at one time, of all tenants. */
  readonly maxRunning: number;
}

/** A process that does not read holds up its writer so long. */
const INPUT_MS = 10_000;

export class Jobs implements AsyncDisposable {
  readonly #deps: JobsDeps;
  readonly #settings: JobsSettings;
  readonly #records: JobRecords;
  readonly #starts = new SessionStarts();
  /** Starts and stops of one id happen one at a time. */
  readonly #turns = new KeyedLock<string>();
  #isClosed = false;

  constructor(deps: JobsDeps, settings: JobsSettings) {
    this.#deps = deps;
    this.#settings = settings;
    this.#records = new JobRecords(deps, settings);
  }

  /** Jobs that run or are cleared away. */
  get runningCount(): number {
    return this.#records.runningCount;
  }

  /** The jobs of one session, for tools. */
  of(session: SessionRecord): BoxJobs {
    const { id } = session;
    return {
      start: (request, options) => this.start(session, request, options),
      list: () => this.list(id),
      take: async (job, waitMs, options) => this.#take(this.#records.find(id, job), waitMs, options),
      wait: (job, waitMs, options) => this.wait(id, job, { ...options, waitMs }),
      input: (job, data, options) => this.input(id, job, { ...options, data }),
      stop: (job) => this.stop(id, job),
    };
  }

  /**
   * Starts a job; a running one of the same id is stopped first.
   * @throws ServiceError `box.capacity` when there are too many; `box.process_not_found` when the session ends
   *   meanwhile; what the box fails with
   */
  async start(session: SessionRecord, request: JobRequest, options: CallOptions): Promise<JobInfo> {
    if (this.#isClosed) throw new ServiceError("service.stopping", "The service is stopping.");
    const id = request.id ?? this.#deps.ids.create("job");
    if (!jobIdSchema.safeParse(id).success) throw badId(id);
    const work = async (linked: CallOptions): Promise<JobInfo> =>
      this.#start(session, { ...request, id }, linked);
    return this.#starts.run(session.id, work, options);
  }

  /** Running ones and those that ended lately, newest first. */
  list(sessionId: SessionId): readonly JobInfo[] {
    this.prune();
    return this.#records
      .of(sessionId)
      .map(({ info }) => info)
      .toReversed();
  }

  /** @throws ServiceError `box.process_not_found` */
  info(sessionId: SessionId, id: string): JobInfo {
    return this.#records.find(sessionId, id).info;
  }

  /**
   * Output from an offset on; waits at most `waitMs` for something.
   * @throws ServiceError `box.process_not_found`
   */
  async poll(
    sessionId: SessionId,
    id: string,
    of: CallOptions & { readonly after: number; readonly maxBytes: number; readonly waitMs: number },
  ): Promise<{ readonly job: JobInfo; readonly output: JobOutput }> {
    const job = this.#records.find(sessionId, id);
    await job.process.more(of.after, of.waitMs, of);
    return { job: job.info, output: job.process.output.read(of.after, of.maxBytes) };
  }

  /**
   * Follows the output from an offset on, until the job ends.
   * @throws ServiceError `box.process_not_found`; `box.process_conflict` while somebody else does so
   */
  follow(sessionId: SessionId, id: string, after: number): OutputFollower {
    const { process } = this.#records.find(sessionId, id);
    if (process.isFollowed)
      throw new ServiceError("box.process_conflict", `Somebody else follows the job "${id}" already.`, {
        hint: "Poll its output instead, or wait until they have left.",
      });
    return process.follow(after);
  }

  /** @throws ServiceError `box.process_not_found` */
  async wait(
    sessionId: SessionId,
    id: string,
    { waitMs, ...options }: CallOptions & { readonly waitMs: number },
  ): Promise<JobInfo> {
    const job = this.#records.find(sessionId, id);
    await job.process.ended(waitMs, options);
    return job.info;
  }

  /**
   * @param of `data`: null = the end of the input
   * @throws ServiceError `box.process_not_found` for an unknown or ended job; `box.process_conflict` when it does not read
   */
  async input(
    sessionId: SessionId,
    id: string,
    { data, signal }: CallOptions & { readonly data: Uint8Array | null },
  ): Promise<JobInfo> {
    const job = this.#records.find(sessionId, id);
    using limit = new TimeLimit(() => doesNotRead(id));
    limit.restart(INPUT_MS);
    using linked = linkSignals(signal, limit.signal);
    if (data === null) await job.process.endInput(linked);
    else await job.process.write(data, linked);
    return job.info;
  }

  /** TERM, and after 5 s the end of the whole tree. @throws ServiceError `box.process_not_found` */
  async stop(sessionId: SessionId, id: string): Promise<JobInfo> {
    const job = this.#records.find(sessionId, id);
    await job.process.stop();
    return job.info;
  }

  /** The session is stopped: its jobs end, their records stay for their time. */
  async stopAll(sessionId: SessionId): Promise<void> {
    await this.#starts.cancel(sessionId);
    await Promise.all(this.#records.of(sessionId).map(({ process }) => process.stop()));
  }

  /** The session is removed: its jobs end at once, and nothing is known of them afterwards. */
  async removeAll(sessionId: SessionId): Promise<void> {
    await this.#starts.cancel(sessionId);
    await Promise.all(this.#records.of(sessionId).map(({ process }) => process.kill()));
    this.#records.forgetAll(sessionId);
  }

  /** Forgets records of ended jobs that are too old, and the oldest where there are too many. */
  prune(): void {
    this.#records.prune();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#starts.cancel(null);
    await Promise.all(this.#records.all.map(({ process }) => process.kill()));
  }

  async #start(
    session: SessionRecord,
    request: JobRequest & { readonly id: string },
    options: CallOptions,
  ): Promise<JobInfo> {
    const { id, command, workdir, env } = request;
    const { clock, mask } = this.#deps;
    using _turn = await this.#turns.acquire(JSON.stringify([session.id, id]), options);
    await this.#records.get(session.id, id)?.process.stop();
    this.#checkRoom();
    await using taken = new CleanupStack();
    const lease = taken.use(await this.#deps.lease(session, { ...options, kind: "job" }));
    const spawn = { argv: ["sh", "-lc", command], workdir, env, terminal: null };
    const process = taken.use(await lease.handle.spawn(spawn, options));
    options.signal.throwIfAborted();
    taken.move();
    const job = new Job({ id, command, process, lease, clock, mask });
    this.#records.keep(session.id, job);
    void this.#tellEnd(session.id, job);
    return job.info;
  }

  /** What is being started counts, this one too. */
  #checkRoom(): void {
    const { maxRunning } = this.#settings;
    const others = this.runningCount + this.#starts.count - 1;
    if (others < maxRunning) return;
    throw new ServiceError(
      "box.capacity",
      `${others} jobs run or are being started; the limit is ${maxRunning} (jobs.max_running).`,
      { hint: "Stop a job, or try again later.", details: { limit: maxRunning, used: others } },
    );
  }

  async #tellEnd(sessionId: SessionId, job: Job): Promise<void> {
    await job.process.closed;
    const { exit } = job.process;
    this.#deps.logger.info(
      { sessionId, outcome: exit?.status, exitCode: exit?.exitCode },
      "A job has ended.",
    );
    this.prune();
  }

  async #take(
    job: Job,
    waitMs: number,
    options: CallOptions,
  ): Promise<{ readonly job: JobInfo; readonly output: JobOutput }> {
    await job.process.more(job.taken, waitMs, options);
    return { job: job.info, output: job.take() };
  }
}

function badId(id: string): ServiceError {
  return new ServiceError(
    "box.validation",
    `${JSON.stringify(id.slice(0, 100))} cannot be the id of a job.`,
    {
      hint: "Use 1 to 64 letters, digits, dots, underscores and dashes, a letter or digit first.",
      param: "id",
    },
  );
}

function doesNotRead(id: string): ServiceError {
  return new ServiceError(
    "box.process_conflict",
    `The job "${id}" has not read its input within ${INPUT_MS / 1000} s; a part of it may have arrived.`,
    { hint: "Look at what the job says before sending more." },
  );
}
