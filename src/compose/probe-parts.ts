/** Whether store, boxes and models can do their work, each by itself (api §7). */
import type { BoxService } from "../box/box-service.js";
import type { BoxStatus } from "../domain/box.js";
import type { PartReadiness } from "../http/readiness.js";
import type { CallOptions } from "../ports/options.js";

export interface ProbedParts {
  /** Fails when the database does not answer. */
  readonly stores: { ping(): Promise<void> };
  readonly boxes: Pick<BoxService, "status">;
  /** Models besides the offline one. */
  readonly configuredModels: number;
}

export async function probeParts(
  { stores, boxes, configuredModels }: ProbedParts,
  options: CallOptions,
): Promise<readonly PartReadiness[]> {
  const store = await stores.ping().then(
    () => null,
    () => "The database does not answer.",
  );
  const status = await boxes.status(options);
  const isWell = status.available || !status.enabled;
  return [
    { name: "store", ok: store === null, reason: store },
    { name: "boxes", ok: isWell, reason: status.reason ?? inForce(status) },
    { name: "models", ok: true, reason: configuredModels === 0 ? "Only the offline demo model." : null },
  ];
}

/** An engine may accept an option and ignore it: these are the controls that it has. */
function inForce({ isolation, quota }: BoxStatus): string {
  const controls = isolation.length === 0 ? "nothing that is known of" : isolation.join(", ");
  return `In force: ${controls}; disk quota: ${quota}.`;
}
