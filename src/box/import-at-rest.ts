/** Files into the workspace of a lease: by the box itself, or from outside while a box that can only read stands still (security §7.1). */
import type { BoxSettings } from "../domain/box.js";
import { ServiceError } from "../domain/errors.js";
import type { SessionId } from "../domain/ids.js";
import type { KeyedLock } from "../lib/keyed-lock.js";
import type { WriteAnswer, WriteRequest } from "../ports/box-handle.js";
import type { CallOptions } from "../ports/options.js";
import type { BoxLease } from "./box-lease.js";
import { BOX_NOTES } from "./box-notes.js";
import type { OpenedBox, OpenerDeps } from "./box-opener.js";
import type { RevivingHandle } from "./reviving-handle.js";

export type ImporterDeps = Pick<OpenerDeps, "backend" | "boxes"> & { readonly locks: KeyedLock<SessionId> };

export interface ImporterOf extends OpenedBox {
  readonly handle: RevivingHandle;
  readonly settings: BoxSettings;
  /** Whether the box ran before the lease: then its processes and /tmp are missed. */
  readonly wasRunning: boolean;
}

export function importer(deps: ImporterDeps, of: ImporterOf): BoxLease["importFiles"] {
  const { handle, settings } = of;
  if (settings.workspaceMode === "rw") return (files, options) => handle.files.write(files, options);
  return async (files, options) => {
    try {
      return await importAtRest(deps, { ...of, files }, options);
    } finally {
      await handle.renew(of.wasRunning ? [BOX_NOTES.restarted] : [], options);
    }
  };
}

async function importAtRest(
  { backend, boxes, locks }: ImporterDeps,
  of: ImporterOf & { readonly files: readonly WriteRequest[] },
  options: CallOptions,
): Promise<readonly WriteAnswer[]> {
  const { session, place, settings, files } = of;
  using _turn = await locks.acquire(session.id, options);
  if (boxes.holds(session.id) > 1)
    throw new ServiceError(
      "box.conflict",
      "Others use the box, and files get into a read-only workspace only while its box stands still.",
      { hint: "Send the file again when they have ended." },
    );
  await backend.stop(place.container, options);
  try {
    return await backend.importFiles(place, { settings, files }, options);
  } finally {
    await backend.start(place, settings, options);
    const found = await backend.inspect(place.container, options);
    const box = boxes.get(session.id);
    if (box !== null && found !== null) boxes.set(session.id, { ...box, startedAt: found.startedAt });
  }
}
