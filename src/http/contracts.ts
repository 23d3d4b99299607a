/** Every route of the service, as clients see it; the OpenAPI document is made from this list (api). */
import { z } from "zod";
import { contract, EVENTS_TYPE, FILE_BYTES, FORM_TYPE, JSON_TYPE, json, noQuery } from "./contract-parts.js";
import { createEvent } from "./event-contracts.js";
import {
  getJob,
  getJobOutput,
  listJobs,
  openTerminal,
  sendJobInput,
  startJob,
  stopJob,
} from "./job-contracts.js";
import type { RouteContract } from "./route.js";
import {
  deletedFileSchema,
  fileListSchema,
  fileSchema,
  linkQuery,
  linkSchema,
  listFilesQuery,
  tokenQuery,
  uploadFormSchema,
} from "./schemas/file-bodies.js";
import { healthSchema, readinessSchema } from "./schemas/operation-bodies.js";
import {
  acknowledgeSchema,
  admittedSchema,
  cancelledRunSchema,
  cancelSchema,
  createRunSchema,
  emptyBodySchema,
  eventsQuery,
  idempotencyHeaderSchema,
  lastEventIdSchema,
  listRunsQuery,
  runAnswerSchema,
  runEventSchema,
  runFormDocSchema,
  runListSchema,
  steeredListSchema,
  steerSchema,
} from "./schemas/run-bodies.js";
import { runnerMetadataSchema } from "./schemas/runner-bodies.js";
import {
  deleteSession,
  deleteSessionFile,
  execInSession,
  getBoxStatus,
  getSession,
  getSessionFile,
  listSessionFiles,
  listSessions,
  putSessionFile,
  stopSession,
} from "./session-contracts.js";

const stream = { description: "The run's events.", content: { [EVENTS_TYPE]: runEventSchema } };

export const createRun = contract({
  method: "post",
  path: "/v1/runs",
  access: "client",
  summary: "Send a message: wait for its run, follow it, or only start it.",
  query: noQuery,
  headers: idempotencyHeaderSchema,
  body: { [JSON_TYPE]: createRunSchema, [FORM_TYPE]: runFormDocSchema },
  answers: {
    200: {
      description: "The finished run; with `stream` its events.",
      content: { [JSON_TYPE]: runAnswerSchema, [EVENTS_TYPE]: runEventSchema },
    },
    202: json("The run waits or has just begun, or a run that goes on answers the message.", admittedSchema),
  },
  errors: [
    "pipeline.not_found",
    "file.not_found",
    "idempotency.mismatch",
    "session.variable_missing",
    "session.template_invalid",
    "run.queue_full",
    "service.stopping",
  ],
});

export const listRuns = contract({
  method: "get",
  path: "/v1/runs",
  access: "client",
  summary: "Runs, newest first.",
  query: listRunsQuery,
  answers: { 200: json("A page of runs.", runListSchema) },
  errors: [],
});

export const getRun = contract({
  method: "get",
  path: "/v1/runs/:id",
  access: "client",
  summary: "A run as it stands.",
  query: noQuery,
  answers: { 200: json("The run; of a steered message what became of it.", admittedSchema) },
  errors: ["run.not_found"],
});

export const followRun = contract({
  method: "get",
  path: "/v1/runs/:id/events",
  access: "client",
  summary: "The events of a run: those that were, then those that come.",
  query: eventsQuery,
  headers: lastEventIdSchema,
  answers: { 200: stream },
  errors: ["run.not_found"],
});

export const cancelRun = contract({
  method: "post",
  path: "/v1/runs/:id/cancel",
  access: "client",
  summary: "Stop a run.",
  query: noQuery,
  body: { [JSON_TYPE]: cancelSchema },
  answers: { 200: json("The run after it was stopped, and where its messages are.", cancelledRunSchema) },
  errors: ["run.not_found", "run.ended"],
});

export const steerRun = contract({
  method: "post",
  path: "/v1/runs/:id/steer",
  access: "client",
  summary: "Send a text to a run that is going on.",
  query: noQuery,
  body: { [JSON_TYPE]: steerSchema },
  answers: { 202: json("The run answers for it, or it is queued behind the run.", admittedSchema) },
  errors: ["run.not_found", "run.ended", "run.queue_full", "service.stopping"],
});

export const listSteering = contract({
  method: "get",
  path: "/v1/runs/:id/steering",
  access: "client",
  summary: "Messages that were meant for a run, and where each of them is.",
  query: noQuery,
  answers: { 200: json("The messages, in order of arrival.", steeredListSchema) },
  errors: ["run.not_found"],
});

export const retryRun = contract({
  method: "post",
  path: "/v1/runs/:id/retry",
  access: "client",
  summary: "A failed or timed-out run again, as a new run with the same input.",
  query: noQuery,
  body: { [JSON_TYPE]: emptyBodySchema },
  answers: { 202: json("The new run.", runAnswerSchema) },
  errors: ["run.not_found", "run.not_retryable", "run.queue_full", "service.stopping"],
});

export const acknowledgeDelivery = contract({
  method: "post",
  path: "/v1/runs/:id/deliveries/:file_id/ack",
  access: "client",
  summary: "Say what became of a delivered file on the bot's platform.",
  query: noQuery,
  body: { [JSON_TYPE]: acknowledgeSchema },
  answers: { 200: json("The run with the new state of the file.", runAnswerSchema) },
  errors: ["run.not_found", "delivery.not_found"],
});

export const uploadFile = contract({
  method: "post",
  path: "/v1/files",
  access: "client",
  summary: "Upload a file for later runs.",
  query: noQuery,
  body: { [FORM_TYPE]: uploadFormSchema },
  answers: { 200: json("The file.", fileSchema) },
  errors: ["box.quota"],
});

export const listFiles = contract({
  method: "get",
  path: "/v1/files",
  access: "client",
  summary: "Uploads and deliveries, newest first.",
  query: listFilesQuery,
  answers: { 200: json("A page of files.", fileListSchema) },
  errors: [],
});

export const getFile = contract({
  method: "get",
  path: "/v1/files/:id",
  access: "client",
  summary: "A file's record.",
  query: noQuery,
  answers: { 200: json("The file.", fileSchema) },
  errors: ["file.not_found"],
});

export const deleteFile = contract({
  method: "delete",
  path: "/v1/files/:id",
  access: "client",
  summary: "Delete a file; its bytes go when nothing else needs them.",
  query: noQuery,
  answers: { 200: json("The file is gone.", deletedFileSchema) },
  errors: ["file.not_found"],
});

export const getFileContent = contract({
  method: "get",
  path: "/v1/files/:id/content",
  access: "client",
  summary: "The bytes of a file, always as a download.",
  query: noQuery,
  answers: FILE_BYTES,
  errors: ["file.not_found", "file.range_invalid"],
});

export const linkFile = contract({
  method: "get",
  path: "/v1/files/:id/link",
  access: "client",
  summary: "An address for one file that needs no key and expires.",
  query: linkQuery,
  answers: { 200: json("The address.", linkSchema) },
  errors: ["file.not_found"],
});

export const openLink = contract({
  method: "get",
  path: "/v1/links/:id",
  access: "public",
  summary: "The bytes behind a signed address.",
  query: tokenQuery,
  answers: FILE_BYTES,
  errors: ["file.not_found", "file.range_invalid"],
});

export const listRunners = contract({
  method: "get",
  path: "/v1/runners",
  access: "admin",
  summary: "The runners there are, and the form of each one's config.",
  query: noQuery,
  answers: { 200: json("Options to choose from, and a form for each that has one.", runnerMetadataSchema) },
  errors: [],
});

export const getHealth = contract({
  method: "get",
  path: "/healthz",
  access: "public",
  summary: "Whether the process lives.",
  query: noQuery,
  answers: { 200: json("It lives.", healthSchema) },
  errors: [],
});

export const getReadiness = contract({
  method: "get",
  path: "/readyz",
  access: "public",
  summary: "Whether the service can do its work, part by part.",
  query: noQuery,
  answers: {
    200: json("Every part is well.", readinessSchema),
    503: json("The parts that are not are named.", readinessSchema),
  },
  errors: [],
});

export const getMetrics = contract({
  method: "get",
  path: "/metrics",
  access: "admin",
  summary: "Counts and durations in the Prometheus text format.",
  query: noQuery,
  answers: { 200: { description: "The metrics.", content: { "text/plain": z.string() } } },
  errors: [],
});

export const getOpenApi = contract({
  method: "get",
  path: "/openapi.json",
  access: "public",
  summary: "This document.",
  query: noQuery,
  answers: { 200: json("OpenAPI 3.1.", z.record(z.string(), z.unknown())) },
  errors: [],
});

export const getStartPage = contract({
  method: "get",
  path: "/",
  access: "public",
  summary: "A page that says what runs here.",
  query: noQuery,
  answers: {
    200: {
      description: "A page, or plain text.",
      content: { "text/html": z.string(), "text/plain": z.string() },
    },
  },
  errors: [],
});

export const CONTRACTS: readonly RouteContract[] = [
  createRun,
  listRuns,
  getRun,
  followRun,
  cancelRun,
  steerRun,
  listSteering,
  retryRun,
  acknowledgeDelivery,
  createEvent,
  uploadFile,
  listFiles,
  getFile,
  deleteFile,
  getFileContent,
  linkFile,
  openLink,
  listSessions,
  getSession,
  deleteSession,
  stopSession,
  listSessionFiles,
  getSessionFile,
  putSessionFile,
  deleteSessionFile,
  execInSession,
  startJob,
  listJobs,
  getJob,
  stopJob,
  sendJobInput,
  getJobOutput,
  openTerminal,
  getBoxStatus,
  listRunners,
  getHealth,
  getReadiness,
  getMetrics,
  getOpenApi,
  getStartPage,
];
