/** The one execution path of every run, whatever surface it came from (runs §7). It names the steps and does nothing else. */
import type { Binding } from "../domain/binding.js";
import { ServiceError, toServiceError } from "../domain/errors.js";
import type { Message } from "../domain/message.js";
import type { RunnerResult, RunWarning } from "../domain/result.js";
import { isTerminal } from "../domain/run.js";
import type { RunContext } from "../domain/run-context.js";
import type { Logger } from "../ports/logger.js";
import type { Metrics } from "../ports/metrics.js";
import type { RunRecord } from "../ports/run-store.js";
import type { ActiveRun, ActiveRuns } from "./active-runs.js";
import { buildContext, type PlaceInHistory } from "./build-context.js";
import { ClaimedFiles } from "./claimed-files.js";
import { claimLost } from "./claims.js";
import { closeCalls } from "./close-calls.js";
import { decideOutcome, terminalEvent } from "./end-run.js";
import { createRunHost, type HostDeps, type LiveHost } from "./host/create-run-host.js";
import { ResultNormaliser } from "./normalise-results.js";
import { type PlanDeps, planBinding, type RunPlan } from "./plan-run.js";
import { answerResults, type Heard, type PluginListeners } from "./plugin-listeners.js";
import { type RecordEventDeps, recordEvent, recordEventOnly } from "./record-event.js";
import { type RecorderDeps, RunRecorder } from "./record-run.js";
import { resolveBinding } from "./resolve-binding.js";
import { runDeadlineSec } from "./run-limits.js";
import { sessionBoxOf } from "./session-box.js";
import type { SteeringEnds } from "./steering-ends.js";
import { takeResult } from "./take-result.js";
import { untilStopped } from "./until-stopped.js";
import { exceptionHandlingOf } from "./user-notice.js";

export interface OrchestratorDeps extends RecorderDeps, RecordEventDeps {
  readonly plan: PlanDeps;
  readonly host: HostDeps;
  readonly listeners: Pick<PluginListeners, "hear">;
  readonly active: ActiveRuns;
  readonly steeringEnds: SteeringEnds;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly settings: {
    readonly deadlineSec: number;
    readonly hostVersion: string;
    /** Bytes per exported file. */
    readonly maxFileBytes: number;
    readonly canExport: boolean;
  };
}

const STATE_CUT: RunWarning = {
  code: "state.cut",
  message: "The state is too large for the context: some entries are left out, and can be read one by one.",
};

/** Milliseconds that a runner with the capability `interrupt` has to end by itself (runs §2.2). */
const INTERRUPT_GRACE_MS = 5000;

export class Orchestrator {
  readonly #deps: OrchestratorDeps;

  constructor(deps: OrchestratorDeps) {
    this.#deps = deps;
  }

  /**
   * Executes a queued run to its one terminal state: what goes wrong is the run's outcome.
   * @throws only what the stores fail with when the end is written
   */
  async execute(run: RunRecord): Promise<void> {
    const recorder = new RunRecorder(this.#deps, run, () => this.#deps.active.stop(run.id, claimLost()));
    const startedAt = this.#deps.clock.elapsed();
    let failure: unknown = null;
    let host: LiveHost | null = null;
    try {
      const binding = resolveBinding(this.#deps.plan.pipelines, run.pipeline);
      const deadlineMs = this.#deadlineMs(binding);
      using active = this.#deps.active.register(run.id, deadlineMs);
      const box = sessionBoxOf(this.#deps.host.box.boxes, run);
      const planned = { binding, tenant: run.tenant, botId: run.chat?.bot_id ?? null, box };
      const plan = await planBinding(this.#deps.plan, planned, { signal: active.signal });
      const deadlineAt = this.#deps.clock.now() + deadlineMs;
      const heard = await this.#deps.listeners.hear({ run, plan }, { signal: active.signal });
      if (heard.kind === "prevented") await this.#answer(heard, plan, recorder);
      else {
        const { run: told, prompt } = heard;
        host = createRunHost(this.#deps.host, { run: told, plan, prompt, recorder, signal: active.signal });
        const place = await this.#start(told, plan, recorder);
        await this.#consume(told, { plan, prompt, active, host, recorder, deadlineAt, place });
      }
    } catch (error) {
      failure = error;
    }
    await this.#end(run, { recorder, host, failure, startedAt });
  }

  #deadlineMs(binding: Binding): number {
    const seconds = runDeadlineSec({
      defaultSec: this.#deps.settings.deadlineSec,
      bindingSec: binding.deadlineSec,
      runnerTimeout: binding.config["timeout"],
    });
    return seconds * 1000;
  }

  /** A package answered in the place of the runner, or wants nothing to be sent: then the history stays as it was (runs §8.3). */
  async #answer(
    { run, reply }: Extract<Heard, { kind: "prevented" }>,
    plan: RunPlan,
    recorder: RunRecorder,
  ): Promise<void> {
    if (reply === null) await recordEventOnly(this.#deps, run, await this.#begin(run, plan, recorder));
    else await this.#start(run, plan, recorder);
    for (const result of answerResults(run.id, reply)) await recorder.take(result);
  }

  /** Event record and the user's message are stored before the runner starts (runs §7.1, §7.4). */
  async #start(run: RunRecord, plan: RunPlan, recorder: RunRecorder): Promise<PlaceInHistory> {
    return recordEvent(this.#deps, run, await this.#begin(run, plan, recorder));
  }

  /** @returns the time of the start, Unix milliseconds */
  async #begin(run: RunRecord, plan: RunPlan, recorder: RunRecorder): Promise<number> {
    const now = this.#deps.clock.now();
    await this.#deps.runs.update(run.id, { state: "running", startedAt: now }, run.epoch);
    const { session, pipeline, runner } = run;
    const config_source = plan.binding.configSource;
    await recorder.emit("run.started", { session, pipeline, runner, config_source });
    return now;
  }

  async #consume(
    run: RunRecord,
    parts: {
      plan: RunPlan;
      prompt: readonly Message[];
      active: ActiveRun;
      host: LiveHost;
      recorder: RunRecorder;
      deadlineAt: number;
      place: PlaceInHistory;
    },
  ): Promise<void> {
    const { plan, active, host, recorder } = parts;
    for (const warning of plan.warnings) await recorder.warn(warning);
    const { descriptor } = plan.runner;
    const context = await this.#context(run, parts);
    const { streaming, interrupt, steering } = descriptor.capabilities;
    if (steering) this.#deps.active.openToSteering(run.id);
    const normaliser = new ResultNormaliser({ runId: run.id, streaming });
    const claimed = new ClaimedFiles(this.#deps.host.files, run);
    const results = runRunner(() => plan.runner.run(context, host.api, { signal: active.signal }));
    const options = { signal: active.signal, graceMs: interrupt ? INTERRUPT_GRACE_MS : 0 };
    for await (const raw of untilStopped(results, options)) {
      const { result, warnings } = normaliser.take(raw);
      for (const warning of warnings) await recorder.warn(warning);
      if (result !== null) await takeResult({ recorder, claimed, state: host.state }, result);
      if (recorder.progress.verdict !== null) return;
    }
  }

  async #context(
    run: RunRecord,
    parts: {
      plan: RunPlan;
      prompt: readonly Message[];
      host: LiveHost;
      recorder: RunRecorder;
      deadlineAt: number;
      place: PlaceInHistory;
    },
  ): Promise<RunContext> {
    const { plan, prompt, host, recorder, deadlineAt, place } = parts;
    const { hostVersion, maxFileBytes, canExport } = this.#deps.settings;
    const { state, isCut } = await host.readState();
    if (isCut) await recorder.warn(STATE_CUT);
    return buildContext({
      run,
      state,
      hasPrompt: prompt.length > 0,
      binding: plan.binding,
      descriptor: plan.runner.descriptor,
      resources: plan.resources,
      deadlineAt,
      place,
      hostVersion,
      maxFileBytes,
      canExport,
    });
  }

  /** Written once, whatever happened before: outcome, transcript, terminal event, then the box is let go. */
  async #end(
    run: RunRecord,
    parts: { recorder: RunRecorder; host: LiveHost | null; failure: unknown; startedAt: number },
  ): Promise<void> {
    const { recorder, host, failure } = parts;
    const left = await this.#leaveBox(run, host);
    const files = await this.#deps.host.files.listByRun(run.tenant, run.id);
    const progress = recorder.progress;
    const decided = decideOutcome({
      run,
      progress,
      failure,
      countedUsage: host?.usage() ?? run.usage,
      attachments: host?.attachments() ?? run.attachments,
      outboxLeft: left,
      files,
      endedAt: this.#deps.clock.now(),
      exceptions: exceptionHandlingOf(this.#deps.plan.pipelines, run.pipeline),
    });
    const outcome = this.#deps.mask.value(decided);
    await closeCalls(this.#deps.transcripts, run, outcome.endedAt);
    await recorder.closeTranscript(progress.text, outcome.message?.partial ?? false);
    const how = { epoch: run.epoch, steered: this.#deps.steeringEnds.of(run) };
    const event = await this.#deps.runs.finish(
      run.id,
      outcome,
      (record) => terminalEvent(record, files),
      how,
    );
    if (event !== null) this.#deps.events.notify(run.id, event.sequence);
    this.#report(run, { outcome, failure, durationMs: this.#deps.clock.elapsed() - parts.startedAt });
  }

  /** @returns what lies in the outbox; a box that does not answer costs the list, not the run's end */
  async #leaveBox(run: RunRecord, host: LiveHost | null): Promise<RunRecord["outboxLeft"]> {
    if (host === null) return [];
    try {
      return await host.leave();
    } catch (error) {
      this.#deps.logger.warn(
        { runId: run.id, code: toServiceError(error).code },
        "The box was left unclean.",
        error,
      );
      return [];
    }
  }

  #report(
    run: RunRecord,
    end: { outcome: ReturnType<typeof decideOutcome>; failure: unknown; durationMs: number },
  ): void {
    const { outcome, failure, durationMs } = end;
    this.#deps.metrics.runEnded({ runner: run.runner, status: outcome.state, durationMs });
    const fields = {
      runId: run.id,
      sessionId: run.session?.id,
      pipeline: run.pipeline,
      outcome: outcome.state,
      code: outcome.error?.code,
      toolRounds: outcome.toolRounds,
      durationMs: Math.round(durationMs),
    };
    const isExpected = failure === null || (failure instanceof ServiceError && !hasBroken(failure));
    if (!isExpected) this.#deps.logger.error(fields, "A run failed in an unexpected way.", failure);
    else if (outcome.state === "failed" || outcome.state === "timeout")
      this.#deps.logger.warn(fields, "A run has failed.");
    else this.#deps.logger.info(fields, "A run has ended.");
  }

  /** Ends a run that never started: cancelled while it waited, or refused at its turn. */
  async endUnstarted(run: RunRecord, error: ServiceError): Promise<void> {
    if (isTerminal(run.state)) return;
    const recorder = new RunRecorder(this.#deps, run);
    await this.#end(run, { recorder, host: null, failure: error, startedAt: this.#deps.clock.elapsed() });
  }
}

/** What a runner throws and does not explain is its failure, not the service's (runs §3.6). */
async function* runRunner(run: () => AsyncIterable<RunnerResult>): AsyncGenerator<RunnerResult, void> {
  try {
    yield* run();
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError("runner.error", "The runner failed in an unexpected way.", { cause: error });
  }
}

function hasBroken({ code }: ServiceError): boolean {
  return code === "runner.error" || code === "internal";
}
