/** Files for a workspace that its box can only read: they come through a short-lived container while the box stands still (security §7.1). */

import { ServiceError } from "../../domain/errors.js";
import { linkSignals } from "../../lib/link-signals.js";
import type { BoxPlace } from "../../ports/box-backend.js";
import type { WriteAnswer, WriteRequest } from "../../ports/box-handle.js";
import type { IdSource } from "../../ports/id-source.js";
import type { CallOptions } from "../../ports/options.js";
import { BoxAccess } from "./box-access.js";
import type { CreateBody } from "./container-body.js";
import { missingImage } from "./engine-errors.js";
import { type ImportInput, makeImportBody } from "./preparation-body.js";
import { type ContainerWork, discard, SHORT_LIFE_MS } from "./run-to-end.js";
import type { ServedBoxes } from "./served-boxes.js";

export interface ImportWork extends ContainerWork {
  readonly ids: IdSource;
  readonly served: ServedBoxes;
}

/** @throws ServiceError `box.readiness` when no such container runs, or it takes longer than 30 s */
export async function importFiles(
  work: ImportWork,
  of: Omit<ImportInput, "helper" | "place"> & {
    readonly place: BoxPlace;
    readonly files: readonly WriteRequest[];
  },
  options: CallOptions,
): Promise<readonly WriteAnswer[]> {
  const { place, files, ...input } = of;
  using linked = linkSignals(options.signal, AbortSignal.timeout(SHORT_LIFE_MS));
  const helper = await work.served.mount(linked);
  const body = makeImportBody({ ...input, place, helper });
  const container = `${place.volume}-import-${work.ids.randomHex(8)}`;
  try {
    const access = await start(work, { container, body }, linked);
    const ground = { place: { ...place, container }, access, hasHelper: helper !== null };
    await using handle = await work.served.serve(ground, linked);
    return await handle.files.write(files, linked);
  } catch (error) {
    options.signal.throwIfAborted();
    if (!linked.signal.aborted) throw error;
    throw new ServiceError("box.readiness", `The files were not taken within ${SHORT_LIFE_MS / 1000} s.`, {
      cause: error,
    });
  } finally {
    await work.served.forget(container);
    await discard(work, container);
  }
}

async function start(
  work: ImportWork,
  { container, body }: { readonly container: string; readonly body: CreateBody },
  options: CallOptions,
): Promise<BoxAccess> {
  const { calls } = work;
  if ((await calls.createContainer(container, body, options)) === "no_image") throw missingImage(body.Image);
  await calls.startContainer(container, options);
  const view = await calls.inspectContainer(container, options);
  if (view?.State.Status !== "running")
    throw new ServiceError("box.readiness", "The container for files of a read-only workspace does not run.");
  return new BoxAccess({
    ...work,
    scripts: work.served.scripts,
    container,
    // Root of a container in which nothing untrusted runs, on a tree that nothing untrusted has written.
    uid: 0,
    startedAt: view.State.StartedAt,
    limits: { memoryMb: 128, pids: 64, quotaMib: 0, entries: 0 },
    sockets: null,
  });
}
