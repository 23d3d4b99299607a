/** Files of a session's workspace: list, download, write, remove (api §4). */
import { createHash } from "node:crypto";
import { readWorkspacePath } from "../../box/workspace-files.js";
import type { FileService } from "../../runs/file-service.js";
import type { SessionService } from "../../runs/session-service.js";
import { receiveBody } from "../receive-body.js";
import { implement, type Route } from "../route.js";
import { sendDownload } from "../send-file.js";
import { deleteSessionFile, getSessionFile, listSessionFiles, putSessionFile } from "../session-contracts.js";
import { readSessionId } from "./sessions.js";

export interface SessionFileRoutesDeps {
  readonly sessions: SessionService;
  readonly files: Pick<FileService, "stage">;
  readonly maxFileBytes: number;
}

/** Nothing in a workspace is believed to be of a type. */
const OPAQUE_TYPE = "application/octet-stream";

export function sessionFileRoutes(deps: SessionFileRoutesDeps): readonly Route[] {
  const { sessions } = deps;
  return [
    implement(listSessionFiles, async (exchange) => {
      const { caller, query, response, signal } = exchange;
      const path = readWorkspacePath(query.path);
      await using box = await sessions.open(caller, readSessionId(exchange), { signal });
      const { entries, truncated } = await box.list(path, query.depth, { signal });
      response.json({ object: "list", path, data: entries, truncated });
    }),
    implement(getSessionFile, async (exchange) => {
      const { caller, query, signal } = exchange;
      const path = readWorkspacePath(query.path);
      await using box = await sessions.open(caller, readSessionId(exchange), { signal });
      const file = await box.openFile(path, { signal });
      // The box gives the version: only its hash is fit for a header.
      const tag = createHash("sha256").update(file.version).digest("hex").slice(0, 32);
      await sendDownload({ ...file, name: path, mimeType: OPAQUE_TYPE, tag }, exchange);
    }),
    putRoute(deps),
    implement(deleteSessionFile, async (exchange) => {
      const { caller, query, response, signal } = exchange;
      const path = readWorkspacePath(query.path);
      await using box = await sessions.open(caller, readSessionId(exchange), { signal });
      await box.removeFile(path, query.recursive === "true", { signal });
      response.json({ path, object: "session.file", deleted: true });
    }),
  ];
}

/** The body is here as a whole before the box is held: a slow client keeps no box awake, and its length is exact. */
function putRoute({ sessions, files, maxFileBytes }: SessionFileRoutesDeps): Route {
  return implement(putSessionFile, async (exchange) => {
    const { request, caller, query, response, signal } = exchange;
    const path = readWorkspacePath(query.path);
    const id = readSessionId(exchange);
    await sessions.check(caller, id);
    await using staged = await receiveBody(request, files, maxFileBytes);
    await using box = await sessions.open(caller, id, { signal });
    response.json(await box.writeFile(path, staged, { signal }));
  });
}
