/** POST /v1/runs: a message as JSON or as a form, answered by its run, by its events, or at once (api §2). */
import { createHash } from "node:crypto";
import { ServiceError } from "../../domain/errors.js";
import type { FileService } from "../../runs/file-service.js";
import type { IncomingContent, MessageRequest } from "../../runs/run-request.js";
import { type AnswerDeps, answerAdmission, readIdempotencyKey } from "../answer-admission.js";
import { attachmentKind, toIncoming } from "../incoming-content.js";
import { parseInput } from "../parse-input.js";
import { takeRunToken } from "../rate-limit.js";
import { type JsonReader, refuseCostlyJson } from "../read-json.js";
import { type FormFile, type FormLimits, readForm } from "../read-multipart.js";
import { type Exchange, implement, type Route } from "../route.js";
import { createRun } from "../run-contracts.js";
import { type CreateRun, createRunSchema, runFormSchema } from "../schemas/run-bodies.js";
import type { TokenBuckets } from "../token-bucket.js";

export interface CreateRunDeps extends AnswerDeps {
  readonly files: Pick<FileService, "stage">;
  readonly json: JsonReader;
  readonly formLimits: FormLimits;
  /** New runs by tenant. */
  readonly rate: TokenBuckets;
}

interface Received {
  readonly body: CreateRun;
  readonly files: readonly IncomingContent[];
  readonly hash: string;
}

export function createRunRoute(deps: CreateRunDeps): Route {
  return implement(createRun, async (exchange) => {
    const key = readIdempotencyKey(exchange);
    const received = await receive(deps, exchange);
    takeRunToken(deps.rate, exchange.caller.tenant);
    const request = toMessageRequest(received, key);
    const admission = await deps.runs.admit(request, exchange.caller, { signal: exchange.signal });
    exchange.context.runId = admission.run.id;
    await answerAdmission(deps, exchange, { admission, wanted: received.body });
  });
}

async function receive(deps: CreateRunDeps, exchange: Exchange): Promise<Received> {
  if (exchange.request.is("multipart/form-data") === "multipart/form-data")
    return receiveForm(deps, exchange);
  const { body, hash } = await deps.json.readAs(createRunSchema, exchange);
  refuseEmptyInput(body, 0);
  return { body, files: [], hash };
}

/** Files are kept only when the rest of the form is well. */
async function receiveForm(deps: CreateRunDeps, exchange: Exchange): Promise<Received> {
  await using form = await readForm(exchange, deps.files, deps.formLimits);
  const { request } = parseInput(runFormSchema, form.fields, "form");
  const value = parseRequestPart(request);
  const body = parseInput(createRunSchema, value, "body");
  refuseEmptyInput(body, form.files.length);
  const files: IncomingContent[] = [];
  for (const file of form.files) files.push(await keepFile(file));
  const hash = createHash("sha256")
    .update(JSON.stringify([request, files]))
    .digest("hex");
  return { body, files, hash };
}

function parseRequestPart(text: string): unknown {
  refuseCostlyJson(Buffer.from(text));
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ServiceError("request.invalid", "The part `request` is not valid JSON.", {
      param: "request",
      hint: "Check its quotes and commas. With curl take --form-string: -F cuts the text at a semicolon.",
      cause: error,
    });
  }
}

async function keepFile({ name, mimeType, staged }: FormFile): Promise<IncomingContent> {
  const blob = await staged.commit();
  return {
    type: "attachment",
    kind: attachmentKind(mimeType),
    name,
    mimeType,
    source: { kind: "blob", ...blob },
  };
}

/** A message with neither words nor files asks for nothing. */
function refuseEmptyInput({ input }: CreateRun, files: number): void {
  if (files > 0 || input.contents.length > 0 || (input.text ?? "") !== "") return;
  throw new ServiceError(
    "request.invalid",
    "The message is empty: it has no text, no contents and no files.",
    {
      param: "input",
      hint: "Give input.text, input.contents or a file part.",
    },
  );
}

function toMessageRequest({ body, files, hash }: Received, key: string | null): MessageRequest {
  return {
    pipeline: body.pipeline,
    chat: body.chat,
    text: body.input.text,
    contents: [...body.input.contents.map(toIncoming), ...files],
    variables: body.variables,
    surface: body.stream ? "sse" : "rest",
    onDisconnect: body.on_disconnect,
    idempotency: key === null ? null : { key, bodyHash: hash },
  };
}
