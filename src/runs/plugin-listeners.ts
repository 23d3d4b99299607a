/** Lets packages hear of what came in, before the runner does; one that fails or is late changes nothing (runs §8). */
import { ZodError } from "zod";
import { ServiceError } from "../domain/errors.js";
import { inputText } from "../domain/event.js";
import { type Message, messageSchema } from "../domain/message.js";
import type { RunnerResult } from "../domain/result.js";
import { itemValue } from "../domain/runner-manifest.js";
import type { Logger } from "../ports/logger.js";
import type { CallOptions } from "../ports/options.js";
import type { PluginEvent, PluginPackages } from "../ports/plugin-packages.js";
import type { RunRecord } from "../ports/run-store.js";
import { alterInput } from "./alter-input.js";
import type { BotPackages, RunPlan } from "./plan-run.js";
import { type PluginVerdict, readPluginAnswer } from "./plugin-answer.js";
import type { PrepareDeps } from "./prepare-input.js";
import type { RunnerRegistry } from "./runner-registry.js";

export interface ListenersDeps {
  /** Null = packages are switched off. */
  readonly packages: Pick<PluginPackages, "offerEvent"> | null;
  readonly runners: Pick<RunnerRegistry, "listPackages">;
  readonly bots: BotPackages;
  readonly prepare: PrepareDeps;
  readonly logger: Logger;
}

/** What the run is after all packages were heard. */
export type Heard =
  | {
      readonly kind: "continue";
      /** With the content that counts. */
      readonly run: RunRecord;
      /** The effective prompt, where a package made one; else empty (runs §10.1). */
      readonly prompt: readonly Message[];
    }
  /** No runner is called. @see runs §8.3 */
  | { readonly kind: "prevented"; readonly run: RunRecord; readonly reply: string | null };

export class PluginListeners {
  readonly #deps: ListenersDeps;

  constructor(deps: ListenersDeps) {
    this.#deps = deps;
  }

  /** Packages hear of it one after another, each of what the one before made of it. */
  async hear(
    { run: came, plan }: { readonly run: RunRecord; readonly plan: RunPlan },
    options: CallOptions,
  ): Promise<Heard> {
    let run = came;
    let prompt: readonly Message[] = [];
    for (const packageId of await this.#listening(came, options)) {
      const event = toEvent(run, prompt.length > 0 ? prompt : configuredPrompt(plan));
      const answer = await this.#ask(packageId, { run, event }, options);
      if (answer === null) continue;
      run = answer.run;
      prompt = answer.verdict.prompt ?? prompt;
      if (answer.verdict.isPrevented) return { kind: "prevented", run, reply: answer.verdict.reply };
    }
    return { kind: "continue", run, prompt };
  }

  /** Only those that the bot may use. */
  async #listening({ tenant, chat, trigger }: RunRecord, options: CallOptions): Promise<readonly string[]> {
    if (this.#deps.packages === null) return [];
    const botId = chat?.bot_id ?? null;
    const allowedPackages = botId === null ? null : (this.#deps.bots.get(botId) ?? null);
    const packages = await this.#deps.runners.listPackages({ tenant, allowedPackages }, options);
    return packages.filter(({ listensTo }) => listensTo.includes(trigger.event_type)).map(({ id }) => id);
  }

  /** @returns null when the package failed, was late or answered nonsense: that is no intervention (runs §8.4) */
  async #ask(
    packageId: string,
    { run, event }: { readonly run: RunRecord; readonly event: PluginEvent },
    options: CallOptions,
  ): Promise<{ readonly verdict: PluginVerdict; readonly run: RunRecord } | null> {
    try {
      const answer = await this.#deps.packages?.offerEvent(packageId, event, options);
      const verdict = readPluginAnswer(answer);
      const { altered } = verdict;
      const isMessage = event.event_type === "message.received";
      if (altered === null || !isMessage) return { verdict, run };
      return { verdict, run: await alterInput(this.#deps.prepare, { run, altered }, options) };
    } catch (error) {
      options.signal.throwIfAborted();
      this.#deps.logger.warn(
        { runId: run.id, package: packageId, code: error instanceof ServiceError ? error.code : undefined },
        "A package did not answer an event as it should; the run goes on without it.",
        error instanceof ZodError ? new Error("Its answer has not the form of one.") : error,
      );
      return null;
    }
  }
}

function toEvent(run: RunRecord, prompt: readonly Message[]): PluginEvent {
  const { trigger, input, params } = run;
  return {
    event_type: trigger.event_type,
    tenant: run.tenant,
    pipeline: run.pipeline,
    chat: run.chat === null ? null : { ...run.chat },
    text: input.text ?? (input.contents.length === 0 ? null : inputText(input)),
    data: { ...trigger.data, contents: input.contents, attachments: input.attachments, params, prompt },
  };
}

/** What the binding says, as far as it is a list of messages; the runner itself judges anything else. */
function configuredPrompt({ binding, runner }: RunPlan): readonly Message[] {
  const item = runner.descriptor.config_schema.find(({ type }) => type === "prompt-editor");
  if (item === undefined) return [];
  const parsed = messageSchema.array().safeParse(itemValue(item, binding.config) ?? item.default);
  return parsed.success ? parsed.data : [];
}

/** What a package that prevented the run comes to, as a runner would have said it. */
export function answerResults(run_id: string, reply: string | null): readonly RunnerResult[] {
  const end: RunnerResult = { type: "run.completed", run_id, data: { finish_reason: "stop" } };
  if (reply === null) return [end];
  const message = { role: "assistant" as const, content: reply };
  return [{ type: "message.completed", run_id, data: { message } }, end];
}
