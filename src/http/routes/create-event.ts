/** POST /v1/events: what happened in a chat or around it, answered as a message is (api §2, runs §11). */
import { ServiceError } from "../../domain/errors.js";
import type { EventRequest } from "../../runs/run-request.js";
import { type AnswerDeps, answerAdmission, readIdempotencyKey } from "../answer-admission.js";
import { createEvent } from "../event-contracts.js";
import { toIncoming } from "../incoming-content.js";
import { takeRunToken } from "../rate-limit.js";
import type { JsonReader } from "../read-json.js";
import { implement, type Route } from "../route.js";
import { type CreateEvent, createEventSchema } from "../schemas/event-bodies.js";
import type { TokenBuckets } from "../token-bucket.js";

export interface CreateEventDeps extends AnswerDeps {
  readonly json: JsonReader;
  /** New runs by tenant. */
  readonly rate: TokenBuckets;
}

export function createEventRoute(deps: CreateEventDeps): Route {
  return implement(createEvent, async (exchange) => {
    const key = readIdempotencyKey(exchange);
    const { body, hash } = await deps.json.readAs(createEventSchema, exchange);
    if (body.event_type === "message.received") refuseHalfMessage(body);
    takeRunToken(deps.rate, exchange.caller.tenant);
    const idempotency = key === null ? null : { key, bodyHash: hash };
    const request = { ...toEventRequest(body), idempotency };
    const admission = await deps.runs.admit(request, exchange.caller, { signal: exchange.signal });
    exchange.context.runId = admission.run.id;
    await answerAdmission(deps, exchange, { admission, wanted: body });
  });
}

/** A message has a chat and says something; other events may have neither. */
function refuseHalfMessage({ chat, input }: CreateEvent): void {
  if (chat === null)
    throw new ServiceError("request.invalid", "The field chat is missing: a message comes from a chat.", {
      param: "chat",
      hint: "Give chat.launcher_id at least.",
    });
  const { text, contents, message_chain } = input;
  if (contents.length > 0 || message_chain.length > 0 || (text ?? "") !== "") return;
  throw new ServiceError("request.invalid", "The message is empty: it has no text and no contents.", {
    param: "input",
    hint: "Give input.text or input.contents.",
  });
}

function toEventRequest(body: CreateEvent): Omit<EventRequest, "idempotency"> {
  const { input, actor, subject } = body;
  return {
    pipeline: body.pipeline,
    chat: body.chat,
    text: input.text,
    contents: input.contents.map(toIncoming),
    messageChain: input.message_chain.map(toIncoming),
    variables: body.variables,
    surface: body.stream ? "sse" : "rest",
    onDisconnect: body.on_disconnect,
    event: {
      type: body.event_type,
      time: body.event_time,
      sourceType: body.source_event_type,
      actor,
      subject,
      data: body.data,
    },
  };
}
