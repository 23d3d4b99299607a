/** What a person or a client is told of a path in a box that cannot be used (box §6.3, §17). */
import type { FileFault } from "../domain/box.js";
import { type ErrorCode, ServiceError } from "../domain/errors.js";
import { MAX_PATH_CHARS } from "../domain/workspace-path.js";
import type { WriteAnswer } from "../ports/box-handle.js";

const MAX_SHOWN_CHARS = 200;

const FAULTS: Readonly<Record<FileFault, { readonly code: ErrorCode; readonly says: string }>> = {
  not_found: { code: "file.not_found", says: "is not in the workspace" },
  escapes: { code: "box.validation", says: "escapes the workspace; only paths below /workspace can be used" },
  symlink_component: {
    code: "box.validation",
    says: "escapes: a part of it is a symbolic link, and links are not followed",
  },
  bad_path: {
    code: "box.validation",
    says: `is no usable path: 1 to ${MAX_PATH_CHARS} characters of valid text without NUL are needed`,
  },
  not_directory: { code: "box.validation", says: "is not a directory, or a part of it is none" },
  not_regular: { code: "box.validation", says: "is not a regular file" },
  unreadable: { code: "box.validation", says: "cannot be read by the box user" },
  denied: { code: "box.validation", says: "cannot be changed by the box user" },
  exists: { code: "box.conflict", says: "was made by something else at the same time" },
  changed: { code: "box.conflict", says: "was changed by something else at the same time" },
  no_space: {
    code: "box.quota",
    says: "was not written: the workspace, or the disk of the machine, has no space left",
  },
};

/** One sentence for a fault; every violation of the boundary says "escapes". */
export function fileFaultError(path: string, fault: FileFault): ServiceError {
  const { code, says } = FAULTS[fault];
  const shown = path.length > MAX_SHOWN_CHARS ? `${path.slice(0, MAX_SHOWN_CHARS)}…` : path;
  return new ServiceError(code, `${JSON.stringify(shown)} ${says}.`, { param: "path", details: { fault } });
}

/** As `fileFaultError`, for a file that was not written; limit and use are told where the box knows them. */
export function refusedWriteError(
  path: string,
  answer: Extract<WriteAnswer, { readonly ok: false }>,
): ServiceError {
  const error = fileFaultError(path, answer.fault);
  return answer.space === undefined
    ? error
    : new ServiceError(error.code, error.message, {
        param: "path",
        details: error.details,
        hint: answer.space,
      });
}
