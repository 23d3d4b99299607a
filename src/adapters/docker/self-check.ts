/** A box made for the check alone, by the way every box is made, in which the helper's probe is run (security §4). */

import type { BoxSettings } from "../../domain/box.js";
import type { BoxControl } from "../../domain/box-control.js";
import { ServiceError, toServiceError } from "../../domain/errors.js";
import { StallGuard } from "../../lib/stall-guard.js";
import type { BoxBackend, BoxPlace } from "../../ports/box-backend.js";
import type { BoxHandle } from "../../ports/box-handle.js";
import type { IdSource } from "../../ports/id-source.js";
import type { Logger } from "../../ports/logger.js";
import type { CallOptions } from "../../ports/options.js";
import { makeExecBody } from "./box-access.js";
import { HELPER_PROGRAM } from "./container-body.js";
import type { EngineCalls } from "./engine-calls.js";
import { readModule } from "./engine-facts.js";
import { ExecChannel } from "./exec-channel.js";
import { judgeProbe, unknownControls } from "./judge-probe.js";
import { LABEL } from "./labels.js";
import { MAX_REPORT_BYTES, type ProbeReport, readProbeReport } from "./probe-report.js";

/** Above the uids of sessions, so that it is nobody's. */
const CHECK_UID = 35_001;
/** The probe itself takes a tenth of a second. */
const PROBE_MS = 10_000;
const COMMAND_MS = 10_000;
const EXPECTED_CODE = 7;

export interface SelfCheckDeps {
  readonly boxes: Pick<
    BoxBackend,
    "open" | "prepareWorkspace" | "removeContainer" | "removeWorkspace" | "start"
  >;
  readonly calls: EngineCalls;
  readonly ids: IdSource;
  readonly logger: Logger;
}

export class SelfCheck {
  readonly #deps: SelfCheckDeps;
  /** Names on the engine that belong to a check which goes on. */
  readonly #names = new Set<string>();

  constructor(deps: SelfCheckDeps) {
    this.#deps = deps;
  }

  /** Whether a container or volume is one of a check that goes on; one that a crash has left is a stray like any other. */
  owns(name: string): boolean {
    return this.#names.has(name);
  }

  /** @throws ServiceError when no such box runs, or no command in it */
  async run(settings: BoxSettings, options: CallOptions): Promise<readonly BoxControl[]> {
    const { boxes, calls, ids } = this.#deps;
    const { SecurityOptions: modules, Runtimes: runtimes } = await calls.info(options);
    requireRuntime(settings.runtime, runtimes);
    const place = makePlace(ids);
    this.#names.add(place.container).add(place.volume);
    try {
      await boxes.prepareWorkspace(place, settings, options);
      await boxes.start(place, settings, options);
      const report = await this.#probe(place, options);
      await this.#tryCommand(place, options);
      if (report === null)
        return unknownControls("there is no helper that could look; `npm run image` makes it");
      return judgeProbe(report, { settings, uid: place.uid, modules: new Set(modules.map(readModule)) });
    } finally {
      await this.#discard(place);
    }
  }

  /** Straight from the engine: below the helper's supervisor nobody could see who takes orphans. */
  async #probe({ container, uid }: BoxPlace, options: CallOptions): Promise<ProbeReport | null> {
    const { calls } = this.#deps;
    const view = await calls.inspectContainer(container, options);
    if (view?.Config.Labels[LABEL.helper] === undefined) return null;
    const id = await calls.createExec(container, makeExecBody([HELPER_PROGRAM, "probe"], uid), options);
    await using channel = new ExecChannel(await calls.startExec(id, options));
    const text = await readText(channel, options);
    // An older helper knows no probe, and says so on its other output.
    return text === "" ? null : readProbeReport(text);
  }

  /** By the way of every command. */
  async #tryCommand(place: BoxPlace, options: CallOptions): Promise<void> {
    await using box = await this.#deps.boxes.open(place, options);
    const code = await exitCodeOf(box, options);
    if (code !== EXPECTED_CODE)
      throw new ServiceError(
        "box.readiness",
        `A command of the self-check ended with ${code ?? "no exit code"} and not with ${EXPECTED_CODE}.`,
      );
  }

  /** Also after an abort. What cannot be removed is a stray from here on, which the next reconciliation finds. */
  async #discard({ container, volume }: BoxPlace): Promise<void> {
    const { boxes, logger } = this.#deps;
    const options = { signal: new AbortController().signal };
    try {
      await boxes.removeContainer(container, options);
      await boxes.removeWorkspace(volume, options);
    } catch (error) {
      logger.warn(
        { container, code: toServiceError(error).code },
        "The box of the self-check could not be removed.",
        error,
      );
    } finally {
      this.#names.delete(container);
      this.#names.delete(volume);
    }
  }
}

function makePlace(ids: IdSource): BoxPlace {
  const hex = ids.randomHex(8);
  return {
    sessionId: `ses_check${hex}`,
    tenant: "",
    uid: CHECK_UID,
    volume: `berth-check-${hex}-workspace`,
    container: `berth-check-${hex}`,
  };
}

/** Said before anything is made: the engine's own words for it are hard to read. An engine that lists none is believed. */
function requireRuntime(wanted: string | null, known: readonly string[]): void {
  if (wanted === null || known.length === 0 || known.includes(wanted)) return;
  throw new ServiceError("box.readiness", `The engine has no runtime "${wanted}".`, {
    hint: `Add it to the engine, or name one of ${known.join(", ")} in boxes.runtime.`,
  });
}

async function readText(channel: ExecChannel, options: CallOptions): Promise<string> {
  const pieces: Uint8Array[] = [];
  let sizeBytes = 0;
  using guard = new StallGuard(() => void channel.close(), PROBE_MS, options);
  guard.arm();
  for await (const bytes of channel.bytes) {
    pieces.push(bytes);
    sizeBytes += bytes.length;
    if (sizeBytes > MAX_REPORT_BYTES) break;
  }
  options.signal.throwIfAborted();
  return Buffer.concat(pieces).toString("utf8");
}

async function exitCodeOf(box: BoxHandle, options: CallOptions): Promise<number | null> {
  const request = {
    argv: ["sh", "-c", `exit ${EXPECTED_CODE}`],
    workdir: "/workspace",
    env: {},
    timeoutMs: COMMAND_MS,
  };
  for await (const event of box.exec(request, options)) if (event.type === "exit") return event.exit.exitCode;
  return null;
}
