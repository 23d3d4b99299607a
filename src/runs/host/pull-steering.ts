/** `steering_pull`: messages that arrived while the run goes on (runs §14.4). */
import type { PulledMessage, SteeringRequest } from "../../ports/run-host.js";
import type { RunRecorder } from "../record-run.js";
import type { RunGate } from "./run-gate.js";

const MAX_PULLED = 100;

export interface PullSteeringDeps {
  readonly gate: RunGate;
  readonly recorder: Pick<RunRecorder, "pullSteering">;
  /** The runner declares the capability `steering`. */
  readonly isSteerable: boolean;
}

/** @throws ServiceError `host.unauthorized` for a runner that does not declare steering */
export async function pullSteering(
  { gate, recorder, isSteerable }: PullSteeringDeps,
  { mode, after }: SteeringRequest,
): Promise<readonly PulledMessage[]> {
  gate.check();
  if (!isSteerable) throw gate.refuse("steering_pull");
  const pulled = await recorder.pullSteering(mode === "all" ? MAX_PULLED : 1, after ?? null);
  return pulled.map(({ id, text, createdAt }) => ({ id, text, createdAt }));
}
