/** The routes of jobs and terminals, as clients see them (api §4, box §14). */
import { contract, EVENTS_TYPE, JSON_TYPE, json, noQuery } from "./contract-parts.js";
import {
  jobInputSchema,
  jobListSchema,
  jobOutputEventSchema,
  jobOutputQuery,
  jobOutputSchema,
  jobSchema,
  startJobSchema,
  terminalQuery,
} from "./schemas/job-bodies.js";
import { BOX_ERRORS } from "./session-contracts.js";

const JOB_ERRORS = ["session.not_found", "box.process_not_found"] as const;

export const startJob = contract({
  method: "post",
  path: "/v1/sessions/:id/jobs",
  access: "admin",
  summary: "Start a job in the box of a session; it goes on until it ends or is stopped.",
  query: noQuery,
  body: { [JSON_TYPE]: startJobSchema },
  answers: { 200: json("The job runs.", jobSchema) },
  errors: [...BOX_ERRORS, "box.validation", "box.forbidden", "box.process_not_found"],
});

export const listJobs = contract({
  method: "get",
  path: "/v1/sessions/:id/jobs",
  access: "admin",
  summary: "Jobs of a session that run or ended lately, newest first.",
  query: noQuery,
  answers: { 200: json("The jobs.", jobListSchema) },
  errors: ["session.not_found"],
});

export const getJob = contract({
  method: "get",
  path: "/v1/sessions/:id/jobs/:job",
  access: "admin",
  summary: "A job as it stands.",
  query: noQuery,
  answers: { 200: json("The job.", jobSchema) },
  errors: JOB_ERRORS,
});

export const stopJob = contract({
  method: "delete",
  path: "/v1/sessions/:id/jobs/:job",
  access: "admin",
  summary: "Stop a job: TERM, and after 5 s the end of all its processes. Its record is kept for a while.",
  query: noQuery,
  answers: { 200: json("The job has ended.", jobSchema) },
  errors: JOB_ERRORS,
});

export const sendJobInput = contract({
  method: "post",
  path: "/v1/sessions/:id/jobs/:job/stdin",
  access: "admin",
  summary: "Send data to the standard input of a job, or close it.",
  query: noQuery,
  body: { [JSON_TYPE]: jobInputSchema },
  answers: { 200: json("The job took the data.", jobSchema) },
  errors: [...JOB_ERRORS, "box.process_conflict"],
});

export const getJobOutput = contract({
  method: "get",
  path: "/v1/sessions/:id/jobs/:job/output",
  access: "admin",
  summary: "Output of a job from an offset on; with `stream` as events until it ends.",
  query: jobOutputQuery,
  answers: {
    200: {
      description: "At most 256 KiB of output; with `stream` its events.",
      content: { [JSON_TYPE]: jobOutputSchema, [EVENTS_TYPE]: jobOutputEventSchema },
    },
  },
  errors: [...JOB_ERRORS, "box.process_conflict"],
});

export const openTerminal = contract({
  method: "get",
  path: "/v1/sessions/:id/terminal",
  access: "admin",
  summary:
    "A terminal in the box, over WebSocket. Binary frames are its bytes. The first text frame of the service names the " +
    'terminal, `{"type":"terminal","id"}`, for a later connection within 30 min; `{"type":"exit","exit_code","notes"}` is ' +
    'its last one. A client may send `{"type":"resize","rows","columns"}`.',
  query: terminalQuery,
  answers: { 101: { description: "The connection is a WebSocket." } },
  errors: [...BOX_ERRORS, "box.forbidden", "box.process_not_found"],
});
