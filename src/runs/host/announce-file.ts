/** Tells of a registered delivery: in the run's events and in the metrics. */
import type { FileRecord } from "../../domain/delivery.js";
import type { Metrics } from "../../ports/metrics.js";
import type { RunRecorder } from "../record-run.js";
import { toDelivery } from "../run-object.js";

export async function announceFile(
  deps: { readonly metrics: Metrics; readonly recorder: RunRecorder },
  file: FileRecord,
): Promise<void> {
  deps.metrics.fileExported({ kind: file.kind, sizeBytes: file.sizeBytes });
  await deps.recorder.emit("delivery.created", { ...toDelivery(file) });
}
