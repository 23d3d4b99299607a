/** What is known of the engine, and what a self-check makes of it: which lacks are warnings and which forbid boxes (box §3.1, §10.1). Pure. */
import { type BoxControl, CONTROL_NAMES, type ControlName } from "../domain/box-control.js";
import { type ErrorCode, ServiceError } from "../domain/errors.js";
import type { EngineFacts } from "../ports/box-backend.js";

export type EngineState = { readonly state: "unknown" } | ProbedState;

export type ProbedState =
  | {
      readonly state: "available";
      readonly facts: EngineFacts;
      /** What the self-check found; empty while it has no answer. */
      readonly controls: readonly BoxControl[];
    }
  | {
      readonly state: "unavailable";
      readonly code: ErrorCode;
      readonly reason: string;
      readonly hint: string;
      readonly controls: readonly BoxControl[];
    };

/** How far the self-check has come since the engine answered. */
export type Proof =
  | { readonly state: "open" }
  | { readonly state: "proved"; readonly controls: readonly BoxControl[] }
  | { readonly state: "failed"; readonly reason: string };

/** Without one of them whoever is in a box is a step from the host or from others: no box is handed out then. */
const ESSENTIAL: ReadonlySet<ControlName> = new Set([
  "non-root-uids",
  "no-capabilities",
  "no-new-privileges",
  "seccomp",
  "network-none",
  "no-engine-socket",
]);

/** @param runtime of the settings; one that is named is used only when it has passed the check */
export function judgeEngine(facts: EngineFacts, proof: Proof, runtime: string | null): ProbedState {
  switch (proof.state) {
    case "proved":
      return judgeControls(facts, proof.controls, runtime);
    case "open":
      return runtime === null
        ? warned(facts, "What is in force is said by the engine; the self-check has no answer yet.")
        : refuse(`The runtime "${runtime}" has not passed its test yet.`, "Try again in a moment.");
    default:
      return runtime === null
        ? warned(facts, `What is in force is said by the engine; the self-check failed: ${proof.reason}`)
        : refuse(
            `The runtime "${runtime}" failed its test: ${proof.reason}`,
            "Mend the runtime, or set boxes.runtime to null.",
          );
  }
}

/** @throws ServiceError with what the engine lacks; `box.engine_unavailable` for one that was not probed */
export function requireAvailable(state: EngineState): EngineFacts {
  if (state.state === "available") return state.facts;
  if (state.state === "unavailable") throw new ServiceError(state.code, state.reason, { hint: state.hint });
  throw new ServiceError("box.engine_unavailable", "The engine was not probed yet.");
}

function judgeControls(
  facts: EngineFacts,
  controls: readonly BoxControl[],
  runtime: string | null,
): ProbedState {
  const ignored = controls.filter(({ state }) => state === "ignored");
  // Another runtime keeps the kernel away from the box by means of its own, and need not know this one.
  const missing = ignored.filter(
    ({ name }) => ESSENTIAL.has(name) && (name !== "seccomp" || runtime === null),
  );
  if (missing.length > 0)
    return {
      ...refuse(
        `The engine makes boxes that are not kept apart: ${missing.map(describe).join("; ")}.`,
        "Use another engine, or mend its settings; GET /v1/boxes/status lists every control.",
      ),
      controls,
    };
  const hasQuota = !ignored.some(({ name }) => name === "workspace-quota");
  const isWatched = facts.quota === "watchdog" || facts.quota === "none";
  const said = isWatched ? ignored.filter(({ name }) => name !== "workspace-quota") : ignored;
  const unknown = controls.filter(({ state }) => state === "unknown");
  return {
    state: "available",
    controls,
    facts: {
      ...facts,
      isolation: [
        ...controls.flatMap(({ name, state }) => (state === "enforced" ? [name] : [])),
        ...facts.isolation.filter((name) => !isControl(name)),
      ],
      quota: hasQuota || isWatched ? facts.quota : "watchdog",
      warnings: [
        ...facts.warnings,
        ...said.map((control) => `The host does not keep up a control of boxes: ${describe(control)}.`),
        ...(unknown.length > 0 ? [describeUnknown(unknown)] : []),
      ],
    },
  };
}

/** Every reason once: one that holds for all is what an operator can mend. */
function describeUnknown(controls: readonly BoxControl[]): string {
  const names = controls.map(({ name }) => name).join(", ");
  const reasons = [...new Set(controls.map(({ detail }) => detail))].join("; ");
  return `The self-check could not look at ${names} (${reasons}).`;
}

function describe({ name, detail }: BoxControl): string {
  return `${name} (${detail})`;
}

function isControl(name: string): boolean {
  return CONTROL_NAMES.some((control) => control === name);
}

function warned(facts: EngineFacts, warning: string): ProbedState {
  return { state: "available", facts: { ...facts, warnings: [...facts.warnings, warning] }, controls: [] };
}

function refuse(reason: string, hint: string): Extract<ProbedState, { readonly state: "unavailable" }> {
  return { state: "unavailable", code: "box.readiness", reason, hint, controls: [] };
}
