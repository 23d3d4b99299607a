/** A host for runner tests: scripted models, a table of tools, a list of history. It refuses what the real one refuses. */
import { ServiceError } from "../../src/domain/errors.js";
import type { EventEntry, EventPage, HistoryPage, TranscriptItem } from "../../src/domain/history.js";
import type { FileId } from "../../src/domain/ids.js";
import { type Message, messageText } from "../../src/domain/message.js";
import type { JsonSchema, ToolEffect, ToolOutcome, ToolResource } from "../../src/domain/tool.js";
import type { ChatChunk, ChatModel, ChatReply } from "../../src/ports/chat-model.js";
import type { KnowledgeChunk } from "../../src/ports/knowledge-base.js";
import type { CallOptions } from "../../src/ports/options.js";
import type { RankedDocument } from "../../src/ports/reranker.js";
import type {
  BoundBox,
  CaptureRequest,
  EventsRequest,
  HistoryRequest,
  HistorySearch,
  HostRuns,
  ImageBytes,
  ImportedAttachment,
  ModelCall,
  PulledMessage,
  RerankCall,
  RetrieveRequest,
  RunHost,
  SteeringRequest,
} from "../../src/ports/run-host.js";
import { FakeKeyValues } from "./fake-key-values.js";

export interface FakeTool {
  readonly effect?: ToolEffect;
  /** Null: the runner must ask for the detail. */
  readonly parameters?: JsonSchema | null;
  readonly run?: (
    parameters: Readonly<Record<string, unknown>>,
    options: CallOptions & { readonly callId: string },
  ) => unknown;
}

export interface FakeHostParts {
  readonly models?: Readonly<Record<string, ChatModel>>;
  readonly tools?: Readonly<Record<string, FakeTool>>;
  /** Tools that exist and are not granted. */
  readonly ungranted?: readonly string[];
  /** Oldest first. */
  readonly history?: readonly TranscriptItem[];
  readonly events?: readonly EventEntry[];
  readonly runs?: Partial<HostRuns>;
  readonly historyPageSize?: number;
  readonly prompt?: readonly Message[];
  readonly box?: Partial<BoundBox> | ServiceError;
  readonly imported?: readonly ImportedAttachment[];
  readonly saveFails?: boolean;
  readonly historyFails?: boolean;
  /** Texts that have arrived by each pull. */
  readonly steering?: () => readonly string[];
  /** Passages by knowledge base. */
  readonly knowledge?: Readonly<Record<string, readonly KnowledgeChunk[]>>;
  /** Ids of models that order documents. */
  readonly rerankers?: readonly string[];
  readonly mayCapture?: boolean;
  readonly images?: Readonly<Record<string, ImageBytes>>;
}

export class FakeRunHost implements RunHost {
  /** Names of the actions, in order, with what they were about. */
  readonly actions: string[] = [];
  readonly modelCalls: ModelCall[] = [];
  readonly toolCalls: { id: string; name: string; parameters: Readonly<Record<string, unknown>> }[] = [];
  readonly saved = new Map<string, string>();
  /** Requests to knowledge bases, rerankers and the capture of files, in order. */
  readonly asked: (RetrieveRequest | RerankCall | CaptureRequest)[] = [];
  readonly state = new FakeKeyValues();
  readonly storage = new FakeKeyValues();
  readonly runs: HostRuns;
  readonly #parts: FakeHostParts;
  #hasBox = false;

  constructor(parts: FakeHostParts = {}) {
    this.#parts = parts;
    this.runs = { ...NO_RUNS, ...parts.runs };
  }

  /** The tools as they stand in the run's resources. */
  get toolResources(): readonly ToolResource[] {
    return Object.entries(this.#parts.tools ?? {}).map(([name, tool]) => ({
      source: "native",
      source_id: "native",
      tool_name: name,
      description: `Does ${name}.`,
      parameters: tool.parameters === undefined ? ANY_INPUT : tool.parameters,
      effect: tool.effect ?? { kind: "none" },
    }));
  }

  async invokeModel(call: ModelCall, options: CallOptions): Promise<ChatReply> {
    return this.#model(call).complete(call, options);
  }

  async *streamModel(call: ModelCall, options: CallOptions): AsyncGenerator<ChatChunk, void> {
    yield* this.#model(call).stream(call, options);
  }

  async getToolDetail(
    name: string,
    { signal }: CallOptions,
  ): Promise<{ description: string; parameters: JsonSchema }> {
    signal.throwIfAborted();
    this.actions.push(`detail ${name}`);
    const tool = this.#parts.tools?.[name];
    if (this.#parts.ungranted?.includes(name) === true) throw refusal(name);
    if (tool === undefined) throw new ServiceError("host.not_found", `There is no tool "${name}".`);
    if (tool.parameters === null)
      throw new ServiceError("host.not_found", `The tool "${name}" has no detail.`);
    return { description: `Does ${name}.`, parameters: tool.parameters ?? ANY_INPUT };
  }

  async callTool(
    call: { id: string; name: string; parameters: Readonly<Record<string, unknown>> },
    options: CallOptions,
  ): Promise<ToolOutcome> {
    options.signal.throwIfAborted();
    this.toolCalls.push(call);
    const tool = this.#parts.tools?.[call.name];
    if (tool === undefined) throw refusal(call.name);
    const result = await tool.run?.(call.parameters, { ...options, callId: call.id });
    return isOutcome(result) ? result : { ok: true, result: result ?? "done" };
  }

  async getPrompt(): Promise<readonly Message[]> {
    this.actions.push("prompt");
    return this.#parts.prompt ?? [];
  }

  /** Cursors are positions in the list. */
  async historySearch({ text, ...request }: HistorySearch, options: CallOptions): Promise<HistoryPage> {
    const page = await this.historyPage({ ...request, direction: "backward" }, options);
    return { ...page, items: page.items.filter(({ message }) => messageText(message).includes(text)) };
  }

  async eventGet(eventId: string): Promise<EventEntry> {
    const entry = this.#parts.events?.find(({ event_id }) => event_id === eventId);
    if (entry !== undefined) return entry;
    throw new ServiceError("host.not_found", `This conversation has no event "${eventId}".`);
  }

  async eventPage(request: EventsRequest): Promise<EventPage> {
    this.actions.push(`events ${request.direction}`);
    const items = this.#parts.events ?? [];
    return { items, next_cursor: null, prev_cursor: null, has_more: false };
  }

  async historyPage(request: HistoryRequest, { signal }: CallOptions): Promise<HistoryPage> {
    signal.throwIfAborted();
    this.actions.push(`history ${request.cursor ?? "newest"}`);
    if (this.#parts.historyFails === true)
      throw new ServiceError("host.invalid_argument", "The history is not to be had.");
    const history = this.#parts.history ?? [];
    const size = Math.min(request.limit ?? 50, this.#parts.historyPageSize ?? 100);
    const end = request.cursor === undefined ? history.length : Number(request.cursor);
    const start = Math.max(0, end - size);
    return {
      items: history.slice(start, end).toReversed(),
      next_cursor: String(start),
      prev_cursor: String(end),
      has_more: start > 0,
    };
  }

  async retrieveKnowledge(request: RetrieveRequest): Promise<readonly KnowledgeChunk[]> {
    const { kbId } = request;
    const chunks = this.#parts.knowledge?.[kbId];
    if (chunks === undefined) throw refusal(kbId);
    this.asked.push(request);
    return chunks.slice(0, request.topK);
  }

  /** The order of the documents stays. */
  async rerank(call: RerankCall): Promise<readonly RankedDocument[]> {
    if (this.#parts.rerankers?.includes(call.modelId) !== true) throw refusal(call.modelId);
    this.asked.push(call);
    return call.documents.map((_, index) => ({ index, score: 1 / (index + 1) })).slice(0, call.topN);
  }

  async captureFile(request: CaptureRequest): Promise<FileId> {
    if (this.#parts.mayCapture !== true) throw refusal("capture_file");
    this.asked.push(request);
    return `file_${this.asked.length}`;
  }

  async pullSteering({ mode, after }: SteeringRequest): Promise<readonly PulledMessage[]> {
    this.actions.push(`steering ${mode}${after === undefined ? "" : ` after ${messageText(after)}`}`);
    const texts = this.#parts.steering?.() ?? [];
    return texts.map((text, index) => ({ id: `run_s${index}`, text, createdAt: 1_000 }));
  }

  async readImage(reference: string, maxBytes: number): Promise<ImageBytes | null> {
    this.actions.push(`image ${reference}`);
    const image = this.#parts.images?.[reference];
    return image === undefined || image.sizeBytes > maxBytes ? null : image;
  }

  async boxStatus(): Promise<never> {
    throw new ServiceError("box.disabled", "This host has no boxes to speak of.");
  }

  async acquireBox(): Promise<never> {
    throw new ServiceError("box.forbidden", "No runner here acquires a box by itself.");
  }

  async bindBox({ signal }: CallOptions): Promise<BoundBox> {
    signal.throwIfAborted();
    this.actions.push("bind");
    const { box } = this.#parts;
    if (box instanceof ServiceError) throw box;
    this.#hasBox = true;
    return {
      sessionId: "ses_1",
      inbox: "/workspace/inbox/run_1",
      outbox: "/workspace/outbox/run_1",
      notes: [],
      ...box,
    };
  }

  async importAttachments(): Promise<readonly ImportedAttachment[]> {
    this.actions.push("import");
    return this.#parts.imported ?? [];
  }

  async saveToolResult(callId: string, text: string): Promise<string | null> {
    if (this.#parts.saveFails === true) throw new ServiceError("box.quota", "The box is full.");
    this.saved.set(callId, text);
    return this.#hasBox ? `/workspace/.tool-results/${callId}` : null;
  }

  #model(call: ModelCall): ChatModel {
    this.modelCalls.push(call);
    const model = this.#parts.models?.[call.modelId];
    if (model === undefined) throw refusal(call.modelId);
    return model;
  }
}

const ANY_INPUT: JsonSchema = { type: "object", properties: {} };

function refusal(what: string): ServiceError {
  return new ServiceError("host.unauthorized", `This run is not authorized for "${what}".`);
}

function isOutcome(value: unknown): value is ToolOutcome {
  return typeof value === "object" && value !== null && "ok" in value;
}

function notInFake(): ServiceError {
  return new ServiceError("host.unauthorized", "This run is not authorized for what the fake host lacks.");
}

const NO_RUNS: HostRuns = {
  get: () => Promise.reject(notInFake()),
  list: () => Promise.reject(notInFake()),
  eventsPage: () => Promise.reject(notInFake()),
  cancel: () => Promise.reject(notInFake()),
  appendResult: () => Promise.reject(notInFake()),
};
