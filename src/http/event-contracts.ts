/** The route of events, as clients see it (api §2). */
import { contract, EVENTS_TYPE, JSON_TYPE, json, noQuery } from "./contract-parts.js";
import { createEventSchema } from "./schemas/event-bodies.js";
import { idempotencyHeaderSchema, runAnswerSchema, runEventSchema } from "./schemas/run-bodies.js";

export const createEvent = contract({
  method: "post",
  path: "/v1/events",
  access: "client",
  summary: "Report an event: a message, one that was taken back, a new member, a friend request.",
  query: noQuery,
  headers: idempotencyHeaderSchema,
  body: { [JSON_TYPE]: createEventSchema },
  answers: {
    200: {
      description: "The finished run; with `stream` its events.",
      content: { [JSON_TYPE]: runAnswerSchema, [EVENTS_TYPE]: runEventSchema },
    },
    202: json("The run waits or has just begun.", runAnswerSchema),
  },
  errors: [
    "pipeline.not_found",
    "pipeline.ambiguous",
    "file.not_found",
    "idempotency.mismatch",
    "session.variable_missing",
    "session.template_invalid",
    "run.queue_full",
    "service.stopping",
  ],
});
