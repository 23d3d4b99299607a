/** The routes of runs, as clients see them (api §2). */
import { contract, EVENTS_TYPE, FORM_TYPE, JSON_TYPE, json, noQuery } from "./contract-parts.js";
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
