/** What callers are told of boxes (box §3.1). */
import type { BoxSettings, BoxStatus } from "../domain/box.js";
import type { BoxControl } from "../domain/box-control.js";
import type { EngineFacts } from "../ports/box-backend.js";
import type { EngineState } from "./engine-state.js";

/** An engine that carries boxes (api §4). */
export interface EngineEntry {
  readonly name: string;
  /** Null while it does not answer. */
  readonly version: string | null;
  /** Of those that boxes are made from, the ones it has. */
  readonly images: readonly string[];
  /** What its host cannot enforce, one sentence each. */
  readonly warnings: readonly string[];
  /** How its boxes are reached; null until that is known. */
  readonly transport: EngineFacts["transport"];
  /** What the self-check has found of each control; empty while it has no answer. */
  readonly controls: readonly BoxControl[];
}

/** What new boxes of the service get. */
type Wanted = Pick<BoxSettings, "network">;

/** Stands in `isolation` beside `network-none` where a broker in the service decides what boxes reach (box §10.6). */
const BROKER = "egress-broker";
const NO_BROKER = "Boxes with a network are refused: only the helper can hold them to their list of hosts.";

export function describeEngine(
  engine: EngineState | "disabled",
  of: Wanted & { readonly name: string; readonly image: string },
): EngineEntry {
  const nothing = { name: of.name, version: null, images: [], warnings: [], controls: [], transport: null };
  if (engine === "disabled" || engine.state === "unknown") return nothing;
  if (engine.state === "unavailable") return { ...nothing, controls: engine.controls };
  const { facts, controls } = engine;
  const { version, transport } = facts;
  const warnings = isWithoutBroker(facts, of) ? [...facts.warnings, NO_BROKER] : facts.warnings;
  return { name: of.name, version, images: [of.image], warnings, transport, controls };
}

/** Unknown capacity is null, never 0; "switched off" and "not reachable" are told apart. */
export function describeStatus(
  engine: EngineState | "disabled",
  of: Wanted & { readonly limit: number; readonly used: number },
): BoxStatus {
  const none = { limit: null, used: null, remaining: null, required_reuse_key: null };
  const nothing = { isolation: [], quota: "unknown", export_paths: false };
  if (engine === "disabled")
    return { enabled: false, available: false, ...none, reason: "Boxes are switched off.", ...nothing };
  if (engine.state !== "available") {
    const reason = engine.state === "unavailable" ? engine.reason : "The engine was not probed yet.";
    return { enabled: true, available: false, ...none, reason, ...nothing };
  }
  const { limit, used, network } = of;
  const { isolation, quota } = engine.facts;
  const hasBroker = network === "broker" && !isWithoutBroker(engine.facts, of);
  return {
    enabled: true,
    available: true,
    limit,
    used,
    remaining: Math.max(0, limit - used),
    required_reuse_key: null,
    reason: null,
    isolation: hasBroker ? [...isolation, BROKER] : isolation,
    quota,
    export_paths: true,
  };
}

function isWithoutBroker({ transport }: EngineFacts, { network }: Wanted): boolean {
  return network === "broker" && transport === "worker";
}
