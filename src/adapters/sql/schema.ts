/**
 * The tables as kysely sees them. Times are Unix milliseconds, yes/no is 1/0, `…_json` is text that is parsed by a
 * schema when it is read. `position` gives the order of creation, which neither ids nor times can.
 */
import type { DeliveryKind, DeliveryState } from "../../domain/delivery.js";
import type { FileId, RunId, SessionId } from "../../domain/ids.js";
import type { RunState } from "../../domain/run.js";

/** The next number of each table that counts; a row is locked until its transaction ends, so order is commit order. */
export interface CounterTable {
  name: "run" | "session" | "file" | "transcript_item" | "event_record" | "steering_item" | "audit";
  value: number;
}

/** Narrow, because it is written with every event; what never changes lies in `run_input`. */
export interface RunTable {
  id: RunId;
  position: number;
  tenant: string;
  pipeline: string;
  runner: string;
  /** `launcher_type:launcher_id`; empty without a chat. */
  chat_key: string;
  conversation: string;
  event_id: string;
  surface: string;
  state: RunState;
  session_id: SessionId | null;
  session_key: string | null;
  on_disconnect: "continue" | "cancel";
  retry_of: RunId | null;
  created_at: number;
  started_at: number | null;
  ended_at: number | null;
  /** Number of the newest event. */
  last_sequence: number;
  message_json: string | null;
  outbox_left_json: string;
  model: string | null;
  tool_rounds: number;
  usage_json: string;
  finish_reason: string | null;
  warnings_json: string;
  error_json: string | null;
  metadata_json: string;
  epoch: number;
  /** Null while nobody works on the run. */
  worker: string | null;
  claim_expires_at: number | null;
}

export interface RunInputTable {
  run_id: RunId;
  chat_json: string;
  input_json: string;
  params_json: string;
  /** Null for a run from before there were other events than messages. */
  trigger_json: string | null;
}

export interface RunEventTable {
  run_id: RunId;
  sequence: number;
  type: string;
  data_json: string;
  timestamp: string;
  /** Number of the event whose text this one adds to; null when `data_json` is the whole data. */
  keyframe: number | null;
}

export interface AttachmentTable {
  run_id: RunId;
  idx: number;
  outcome_json: string | null;
  source_json: string | null;
  /** Of the bytes we keep; null when the source is no blob. */
  sha256: string | null;
}

export interface SessionTable {
  id: SessionId;
  position: number;
  tenant: string;
  identity: string;
  reuse_key: string;
  engine: string;
  uid: number;
  volume: string;
  container: string | null;
  prepared: 0 | 1;
  settings: string | null;
  /** Null = nobody has used the box. */
  untold_json: string | null;
  created_at: number;
  last_used_at: number;
}

export interface TranscriptItemTable {
  tenant: string;
  conversation: string;
  sequence: number;
  run_id: string;
  event_id: string | null;
  message_json: string;
  partial: 0 | 1;
  created_at: number;
}

export interface EventRecordTable {
  sequence: number;
  run_id: string;
  tenant: string;
  conversation: string;
  event_id: string;
  event_type: string;
  /** Unix seconds. */
  event_time: number;
  source: string;
  source_event_type: string | null;
  actor_json: string;
  subject_json: string;
  data_json: string;
  summary: string;
  bot_id: string | null;
  conversation_id: string | null;
  thread_id: string | null;
  created_at: number;
}

export interface FileTable {
  id: FileId;
  position: number;
  tenant: string;
  run_id: RunId | null;
  purpose: string;
  name: string;
  kind: DeliveryKind;
  mime_type: string;
  size_bytes: number;
  sha256: string;
  source_path: string | null;
  state: DeliveryState;
  created_at: number;
}

export interface IdempotencyKeyTable {
  tenant: string;
  key: string;
  body_hash: string;
  run_id: RunId;
  created_at: number;
}

export interface StateTable {
  tenant: string;
  scope_key: string;
  key: string;
  /** Written and read as it is: the value is the runner's. */
  value_json: string;
  size_bytes: number;
  updated_at: number;
}

/** The highest revision seen of a grant. */
export interface GrantRevisionTable {
  tenant: string;
  grant_id: string;
  revision: number;
  expires_at: number;
  boxes: number;
  revoked: number;
}

export interface SteeringItemTable {
  id: RunId;
  /** Order of arrival. */
  position: number;
  tenant: string;
  run_id: RunId;
  place: string;
  text: string;
  created_at: number;
  changed_at: number;
}

export interface AuditTable {
  position: number;
  tenant: string;
  run_id: RunId;
  type: string;
  /** Id of the message. */
  subject: RunId;
  created_at: number;
}

export interface WebhookEntryTable {
  receiver: string;
  run_id: RunId;
  sequence: number;
  tenant: string;
  attempts: number;
  is_under_way: 0 | 1;
  due_at: number;
}

export interface Schema {
  counter: CounterTable;
  run: RunTable;
  run_input: RunInputTable;
  run_event: RunEventTable;
  attachment: AttachmentTable;
  session: SessionTable;
  transcript_item: TranscriptItemTable;
  event_record: EventRecordTable;
  file: FileTable;
  idempotency_key: IdempotencyKeyTable;
  steering_item: SteeringItemTable;
  audit: AuditTable;
  state: StateTable;
  webhook_entry: WebhookEntryTable;
  grant_revision: GrantRevisionTable;
}
