/** Which disk quota an engine and its host can keep: tried with a throw-away volume and seen from within a container (box §10.5). */
import { ServiceError, toServiceError } from "../../domain/errors.js";
import type { SessionId } from "../../domain/ids.js";
import { endsWithin } from "../../lib/delay.js";
import { linkSignals } from "../../lib/link-signals.js";
import { SingleFlight } from "../../lib/single-flight.js";
import type { EngineFacts } from "../../ports/box-backend.js";
import type { IdSource } from "../../ports/id-source.js";
import type { CallOptions } from "../../ports/options.js";
import type { QuotaVolumes } from "../../ports/quota-volumes.js";
import { ownerLabels } from "./labels.js";
import { makePreparationBody, type VolumeCheck, WRONG_VOLUME } from "./preparation-body.js";
import { type ContainerWork, runToEnd } from "./run-to-end.js";
import { bindDriver } from "./volume-driver.js";

export type QuotaMode = "auto" | "loop" | "watchdog";

export interface QuotaOutcome {
  readonly kind: EngineFacts["quota"];
  /** Why nothing better is in force, one sentence each. */
  readonly warnings: readonly string[];
}

export interface QuotaProbeDeps {
  readonly work: ContainerWork;
  readonly serviceId: string;
  readonly ids: IdSource;
  readonly seccomp: string;
  readonly mode: QuotaMode;
  /** Of the container that looks at the volume. */
  readonly image: string;
  readonly volumes: QuotaVolumes | null;
}

export const WATCHED: QuotaOutcome = {
  kind: "watchdog",
  warnings: [
    "Disk quotas are watched while commands run, not enforced by the kernel: a fast writer passes them for a moment.",
  ],
};

const PROBE_MS = 30_000;
/** What a probe of the engine waits for this one; the next one is told the outcome. */
const PATIENCE_MS = 3000;
/** What failed may work later: a machine under load, an image that is built at this moment. */
const AGAIN_MS = 300_000;
const SIZE = { quotaMib: 8, entries: 1000 };
/** Holds nothing: the volume is never a box's. */
const UID = 20_000;
const PROBE_SESSION: SessionId = "ses_probe";

export class QuotaProbe {
  readonly #deps: QuotaProbeDeps;
  readonly #flight = new SingleFlight<"probe", void>();
  readonly #using = new Set<string>();
  #known: { readonly outcome: QuotaOutcome; readonly until: number } | null = null;

  constructor(deps: QuotaProbeDeps) {
    this.#deps = deps;
  }

  /** Whether a volume of this name is one that is tried. */
  isUsing(volume: string): boolean {
    return this.#using.has(volume);
  }

  /**
   * The outcome, without waiting long for the first one.
   * @throws ServiceError `box.readiness` when the quota that the settings ask for cannot be kept
   */
  async soon(options: CallOptions): Promise<QuotaOutcome> {
    const work = this.outcome(options);
    if (await endsWithin(work, PATIENCE_MS)) return work;
    work.catch(() => undefined);
    return { ...WATCHED, warnings: ["Which disk quota can be kept is still being tried."] };
  }

  /** @throws ServiceError `box.readiness` when the quota that the settings ask for cannot be kept */
  async outcome(options: CallOptions): Promise<QuotaOutcome> {
    const { mode, work } = this.#deps;
    if (mode === "watchdog") return WATCHED;
    if (this.#known === null || work.clock.elapsed() > this.#known.until)
      await this.#flight.run("probe", async (signal) => this.#probe({ signal }), options);
    const { outcome } = this.#known ?? { outcome: WATCHED };
    if (mode === "auto" || outcome.kind === mode) return outcome;
    throw new ServiceError(
      "box.readiness",
      `The disk quota ${mode} of boxes.quota cannot be kept: ${outcome.warnings[0] ?? "it was not tried."}`,
      { hint: "Mend the reason, or set boxes.quota to auto." },
    );
  }

  async #probe(options: CallOptions): Promise<void> {
    using limited = linkSignals(options.signal, AbortSignal.timeout(PROBE_MS));
    const outcome = await this.#try({ signal: limited.signal });
    options.signal.throwIfAborted();
    const isBest = outcome.kind !== "watchdog";
    const now = this.#deps.work.clock.elapsed();
    this.#known = { outcome, until: isBest ? Number.POSITIVE_INFINITY : now + AGAIN_MS };
  }

  async #try(options: CallOptions): Promise<QuotaOutcome> {
    const fault = await findFault(() => this.#tryLoop(this.#deps.volumes, options));
    if (fault === null) return { kind: "loop", warnings: [] };
    const reason = `Workspaces get no file systems of their own (loop): ${fault}`;
    return { kind: "watchdog", warnings: [reason, ...WATCHED.warnings] };
  }

  async #tryLoop(volumes: QuotaVolumes | null, options: CallOptions): Promise<void> {
    if (volumes === null) throw new ServiceError("box.readiness", "The engine is on another machine.");
    await this.#withName(async (name) => {
      const { source, device, totalBytes } = await volumes.ready(name, SIZE, options);
      await this.#look(
        { name, driver: bindDriver(source), check: { device, maxBytes: totalBytes } },
        options,
      );
    });
  }

  async #withName(work: (name: string) => Promise<void>): Promise<void> {
    const name = `berth-probe-${this.#deps.ids.randomHex(8)}`;
    this.#using.add(name);
    try {
      await work(name);
    } finally {
      await this.#discard(name);
    }
  }

  /** A container that sees the volume as a preparation does decides. */
  async #look(
    of: {
      readonly name: string;
      readonly driver: Readonly<Record<string, string>>;
      readonly check: VolumeCheck;
    },
    options: CallOptions,
  ): Promise<void> {
    const { work, serviceId, seccomp, image } = this.#deps;
    const place = { sessionId: PROBE_SESSION, tenant: "", uid: UID, volume: of.name };
    const labels = ownerLabels({ serviceId, ...place });
    await work.calls.createVolume(of.name, labels, { ...options, driver: of.driver });
    const settings = { image, workspaceQuotaMb: SIZE.quotaMib, runtime: null };
    const body = makePreparationBody({ serviceId, place, settings, seccomp, check: of.check });
    const exitCode = await runToEnd(work, { name: `${of.name}-prep`, body }, options);
    if (exitCode === WRONG_VOLUME)
      throw new ServiceError("box.readiness", "A container did not see the volume that was made for it.");
    if (exitCode !== 0)
      throw new ServiceError("box.readiness", `The volume could not be prepared (exit code ${exitCode}).`);
  }

  /** Also after an abort. What cannot be removed here is found by reconciliation later. */
  async #discard(name: string): Promise<void> {
    const { work, volumes } = this.#deps;
    const options = { signal: new AbortController().signal };
    try {
      await work.calls.removeVolume(name, options);
      await volumes?.remove(name, options);
    } catch (error) {
      work.logger.warn({ volume: name }, "A volume that was tried could not be removed.", error);
    } finally {
      this.#using.delete(name);
    }
  }
}

/** @returns why it did not work, one sentence; null when it did */
async function findFault(work: () => Promise<void>): Promise<string | null> {
  try {
    await work();
    return null;
  } catch (error) {
    return toServiceError(error).message;
  }
}
