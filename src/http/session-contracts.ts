/** The routes of sessions and boxes, as clients see them (api §4). */
import {
  BYTES_TYPE,
  binary,
  contract,
  EVENTS_TYPE,
  FILE_BYTES,
  JSON_TYPE,
  json,
  noQuery,
} from "./contract-parts.js";
import { emptyBodySchema } from "./schemas/run-bodies.js";
import {
  boxStatusSchema,
  contentQuery,
  deleteContentQuery,
  deletedContentSchema,
  deletedSessionSchema,
  deleteSessionQuery,
  execEventSchema,
  execResultSchema,
  execSchema,
  listSessionFilesQuery,
  listSessionsQuery,
  sessionFileSchema,
  sessionFilesSchema,
  sessionListSchema,
  sessionSchema,
} from "./schemas/session-bodies.js";

/** What can go wrong where the box has to run. */
export const BOX_ERRORS = [
  "session.not_found",
  "box.admission",
  "box.capacity",
  "box.conflict",
  "box.disabled",
  "box.engine_unavailable",
  "box.readiness",
  "service.stopping",
] as const;

export const listSessions = contract({
  method: "get",
  path: "/v1/sessions",
  access: "client",
  summary: "Sessions, newest first.",
  query: listSessionsQuery,
  answers: { 200: json("A page of sessions.", sessionListSchema) },
  errors: [],
});

export const getSession = contract({
  method: "get",
  path: "/v1/sessions/:id",
  access: "client",
  summary: "A session: its box, the chats that use it, its active runs.",
  query: noQuery,
  answers: { 200: json("The session.", sessionSchema) },
  errors: ["session.not_found"],
});

export const deleteSession = contract({
  method: "delete",
  path: "/v1/sessions/:id",
  access: "client",
  summary: "Delete a session with its box and its workspace; delivered files stay.",
  query: deleteSessionQuery,
  answers: { 200: json("The session is gone.", deletedSessionSchema) },
  errors: ["session.not_found", "box.conflict"],
});

export const stopSession = contract({
  method: "post",
  path: "/v1/sessions/:id/stop",
  access: "client",
  summary: "Give up the container of a session; its workspace is kept.",
  query: noQuery,
  body: { [JSON_TYPE]: emptyBodySchema },
  answers: { 200: json("The session without a container.", sessionSchema) },
  errors: ["session.not_found", "box.conflict", "box.engine_unavailable"],
});

export const listSessionFiles = contract({
  method: "get",
  path: "/v1/sessions/:id/files",
  access: "client",
  summary: "What lies in a directory of the workspace; links are not followed.",
  query: listSessionFilesQuery,
  answers: { 200: json("At most 1000 entries, in order of path.", sessionFilesSchema) },
  errors: [...BOX_ERRORS, "box.validation", "file.not_found"],
});

export const getSessionFile = contract({
  method: "get",
  path: "/v1/sessions/:id/files/content",
  access: "client",
  summary: "The bytes of a file of the workspace, always as a download.",
  query: contentQuery,
  answers: FILE_BYTES,
  errors: [...BOX_ERRORS, "box.validation", "file.not_found", "file.range_invalid"],
});

export const putSessionFile = contract({
  method: "put",
  path: "/v1/sessions/:id/files/content",
  access: "client",
  summary: "Write a file of the workspace, as a whole; its directories are made.",
  query: contentQuery,
  body: { [BYTES_TYPE]: binary },
  answers: { 200: json("The file.", sessionFileSchema) },
  errors: [...BOX_ERRORS, "box.validation", "box.forbidden", "box.quota"],
});

export const deleteSessionFile = contract({
  method: "delete",
  path: "/v1/sessions/:id/files/content",
  access: "client",
  summary: "Remove a file of the workspace, of a link the link.",
  query: deleteContentQuery,
  answers: { 200: json("The file is gone.", deletedContentSchema) },
  errors: [...BOX_ERRORS, "box.validation", "box.forbidden", "file.not_found"],
});

export const execInSession = contract({
  method: "post",
  path: "/v1/sessions/:id/exec",
  access: "admin",
  summary: "Run a command in the box of a session; it is stopped when its client leaves.",
  query: noQuery,
  body: { [JSON_TYPE]: execSchema },
  answers: {
    200: {
      description: "What the command came to; with `stream` its output, then that.",
      content: { [JSON_TYPE]: execResultSchema, [EVENTS_TYPE]: execEventSchema },
    },
  },
  errors: [...BOX_ERRORS, "box.validation"],
});

export const getBoxStatus = contract({
  method: "get",
  path: "/v1/boxes/status",
  access: "client",
  summary:
    "Whether boxes can be had, and with which limits; for admin keys also the boxes and recent errors.",
  query: noQuery,
  answers: { 200: json("The status.", boxStatusSchema) },
  errors: [],
});
