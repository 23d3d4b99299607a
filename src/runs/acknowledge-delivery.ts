/** What the platform of a bot did with a delivered file (api §2, box §9.2, §9.6). */
import { ServiceError } from "../domain/errors.js";
import type { FileId } from "../domain/ids.js";
import type { FileStore } from "../ports/file-store.js";
import type { RunRecord, RunStore } from "../ports/run-store.js";
import { undeliveredError } from "./end-run.js";
import type { Pipelines } from "./resolve-binding.js";
import type { DeliveryReport } from "./run-service.js";
import { exceptionHandlingOf, withNotice } from "./user-notice.js";

export interface AcknowledgeDeps {
  readonly files: FileStore;
  readonly runs: RunStore;
  readonly pipelines: Pipelines;
}

/** A file that could not be sent fails its run; nothing is sent again. @throws ServiceError `delivery.not_found` */
export async function acknowledgeDelivery(
  { files, runs, pipelines }: AcknowledgeDeps,
  { run, fileId }: { readonly run: RunRecord; readonly fileId: FileId },
  { state, detail }: DeliveryReport,
): Promise<void> {
  const file = await files.get(run.tenant, fileId);
  if (file === null || file.runId !== run.id)
    throw new ServiceError("delivery.not_found", "This run has no such delivery.", { param: "file_id" });
  await files.setState(fileId, state === "sent" ? "acked" : "failed");
  if (state === "sent") return;
  const error = withNotice(undeliveredError(file, detail), exceptionHandlingOf(pipelines, run.pipeline));
  await runs.failDelivered(run.id, error);
}
