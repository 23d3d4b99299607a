/** Every acceptance case, its rule, and the issue that will build what has no proof yet (style §7). */

export interface Requirement {
  readonly id: string;
  readonly rule: string;
  readonly says: string;
  /** Open issue that owes the proof; absent = a test must prove it. */
  readonly issue?: number;
}

export const REQUIREMENTS: readonly Requirement[] = [
  {
    id: "REG-01",
    rule: "runs §1.1, 1.4",
    says: "the id `plugin:alice/my-agent/default` / parsed and formatted / author, plugin and runner come out, and the same text comes back",
  },
  {
    id: "REG-02",
    rule: "runs §1.3",
    says: "an id with two parts after the prefix, or with an empty part / parsed / validation error",
  },
  {
    id: "REG-03",
    rule: "runs §1.3",
    says: "an id with four parts after the prefix / parsed / validation error",
  },
  { id: "REG-04", rule: "runs §1.4", says: "an unknown source kind / formatted / error" },
  {
    id: "REG-05",
    rule: "runs §3.1",
    says: "two good entries, one of another kind, one without a name / discovery / exactly the two good runners",
  },
  {
    id: "REG-06",
    rule: "runs §2.2, 2.3",
    says: "a manifest with an unknown capability or permission operation / discovery / that runner is refused, the others stay",
  },
  {
    id: "REG-07",
    rule: "runs §3.2",
    says: "a package that declares two runners / discovery / two descriptors, each with its own schema and permissions",
  },
  {
    id: "REG-08",
    rule: "runs §3.4",
    says: "two list calls in a row / discovery / the second comes from the cache and is as long as the first",
  },
  {
    id: "REG-09",
    rule: "runs §3.4",
    says: "a list call filtered by allowed packages, then one without filter / both / the second sees everything",
  },
  {
    id: "REG-10",
    rule: "runs §3.4",
    says: "an id that is absent even after the refresh / get / RunnerNotFound with that id",
  },
  {
    id: "REG-11",
    rule: "runs §3.6",
    says: "a runner whose package is not allowed for the bot / get / RunnerNotAuthorized, not RunnerNotFound",
  },
  {
    id: "CONF-01",
    rule: "runs §5.2, 5.3",
    says: "`ai.runner.id` set and its entry in `runner_config` / resolve / that id and exactly that object",
  },
  {
    id: "CONF-02",
    rule: "runs §5.2, 5.3",
    says: "only `ai.runner.runner: local-agent` and a block `ai.local-agent` / resolve / the local agent with the legacy block",
  },
  { id: "CONF-03", rule: "runs §5.2", says: "no runner named anywhere / resolve / null, nothing thrown" },
  {
    id: "CONF-04",
    rule: "runs §5.5",
    says: 'the selected runner has `enable-all-tools: "true"` as text / save / refused',
  },
  {
    id: "CONF-05",
    rule: "runs §5.5",
    says: "`mcp-resources[0].enabled` is 1, then true / save / refused, then accepted",
  },
  { id: "CONF-06", rule: "runs §5.7", says: "`expire-time` missing, 0, 3600 / read / 0, 0, 3600" },
  {
    id: "CONF-07",
    rule: "runs §6.1",
    says: "only the old single `knowledge-base` key / run / no knowledge base is used",
  },
  {
    id: "CTX-01",
    rule: "runs §10.5",
    says: "a chat message / context built / valid by the schema, event and delivery present, no other top-level fields",
  },
  {
    id: "CTX-02",
    rule: "runs §11",
    says: "a non-message event with subject data / context built / subject data kept; empty input text is fine",
  },
  {
    id: "CTX-03",
    rule: "runs §11.4",
    says: "event times in milliseconds and microseconds / converted / seconds",
  },
  {
    id: "CTX-04",
    rule: "runs §11.5",
    says: "an event with a 10 kB string and a raw platform object / converted / both missing from event data, small values kept",
  },
  {
    id: "CTX-05",
    rule: "runs §11.3",
    says: "one local message id in two pipelines / converted / two event ids",
  },
  {
    id: "CTX-06",
    rule: "runs §13.1",
    says: "variables `_internal`, `api_token`, `MyPassword`, `lang` / params built / only `lang`",
  },
  {
    id: "CTX-07",
    rule: "runs §13.1",
    says: "a variable with something non-JSON deep inside / params built / dropped, its neighbours stay",
  },
  {
    id: "CTX-08",
    rule: "runs §11.2",
    says: "one image as base64 in the message chain and in the contents / attachments built / one entry with usable content",
  },
  {
    id: "CTX-09",
    rule: "runs §10.4",
    says: "no conversation / available_apis / `history_page`, `history_search`, `event_page` false; `event_get` true; runner-scope state works",
  },
  {
    id: "CTX-10",
    rule: "runs §10.4",
    says: "state enabled but no scopes listed / available_apis / `state` false",
  },
  {
    id: "CTX-11",
    rule: "runs §10.1",
    says: "an effective prompt exists / context serialised / its text occurs nowhere in the pushed context",
  },
  {
    id: "AUTH-01",
    rule: "runs §15.2",
    says: "primary, fallback and rerank model selected / resources built / all three there, the rerank model with `rerank` only",
  },
  {
    id: "AUTH-02",
    rule: "runs §15.2",
    says: "one model named by the query and by the config / built / one entry",
  },
  {
    id: "AUTH-03",
    rule: "runs §15.2",
    says: "a selected model no longer exists / built / skipped with a warning; the run can go on",
  },
  {
    id: "AUTH-04",
    rule: "runs §15.1",
    says: "no tool permission in the manifest, tools granted by the binding / built / no tools",
  },
  {
    id: "AUTH-05",
    rule: "runs §5.6",
    says: "`enable-all-tools` not a boolean / policy applied / counts as false; only selected tools remain",
  },
  {
    id: "AUTH-06",
    rule: "runs §15.2",
    says: "the selection names a tool outside the scope / policy applied / the intersection only",
  },
  { id: "AUTH-07", rule: "runs §15.2", says: "knowledge bases in config and in policy / built / the union" },
  {
    id: "AUTH-08",
    rule: "runs §15.2",
    says: "storage allowed by the manifest, not by the binding / built / false",
  },
  {
    id: "AUTH-09",
    rule: "runs §15.5",
    says: "two MCP servers offer `search`, one is authorised / called / goes to that one",
  },
  {
    id: "AUTH-10",
    rule: "runs §15.3",
    says: "the resource objects are changed after registration / host API check / the snapshot is unchanged",
  },
  {
    id: "AUTH-11",
    rule: "runs §15.4",
    says: '`invoke_llm` with a model that is not authorised / called / "not authorized", a warning in the log, no provider call',
  },
  {
    id: "AUTH-12",
    rule: "runs §15.5",
    says: "a model authorised for `invoke` only / stream called / refused",
  },
  {
    id: "AUTH-13",
    rule: "runs §15.4",
    says: "an expired or unregistered run id / any action / run session not found",
  },
  { id: "AUTH-14", rule: "runs §15.4", says: "a knowledge base outside the snapshot / retrieve / refused" },
  { id: "AUTH-15", rule: "runs §17.1", says: "a run of conversation A / history of B / refused" },
  {
    id: "AUTH-16",
    rule: "runs §17.1",
    says: "rows of another thread and another bot in one conversation / history page, event page / own-scope rows only; null matches only null",
  },
  {
    id: "AUTH-17",
    rule: "runs §17.2",
    says: "a limit above the hard maximum / history page / at most 100 rows",
  },
  {
    id: "AUTH-18",
    rule: "runs §15.4",
    says: "a state call without the caller in it / called / identity taken from the connection; another claimed identity is refused",
  },
  { id: "STATE-01", rule: "runs §16.3", says: "a value above 256 KiB of JSON / set / error, nothing stored" },
  {
    id: "STATE-02",
    rule: "runs §16.1",
    says: "conversation scope without a conversation id / any access / unavailable; no shared key",
  },
  {
    id: "STATE-03",
    rule: "runs §16.2",
    says: "two bindings of one runner, the same key / set / separate values",
  },
  {
    id: "STATE-04",
    rule: "runs §16.2",
    says: "only the actor scope is enabled / conversation scope set / refused",
  },
  { id: "STATE-05", rule: "runs §16", says: "set, get, list, delete / called / round trip" },
  { id: "STATE-06", rule: "runs §20.1", says: "a completed run / status to running / refused" },
  {
    id: "STATE-07",
    rule: "runs §20.1",
    says: "a terminal run / extra metadata; an unknown status / merged; error",
  },
  {
    id: "STATE-08",
    rule: "runs §15.5",
    says: "`append_result` with a message, a state update or an unknown type / called / refused",
  },
  {
    id: "STATE-09",
    rule: "runs §14.3",
    says: "a steering queue with 100 items / one more / not taken there; it becomes a queued run",
  },
  {
    id: "STATE-10",
    rule: "runs §14.4",
    says: "three queued messages / pull one at a time; pull all / the first only; all in order",
  },
  {
    id: "STATE-11",
    rule: "runs §14.6",
    says: "a run ends with queued messages / unregistered / they come back, are audited as requeued and get runs of their own; `dropped` only when the chat is gone, and then the message state says so",
  },
  {
    id: "STATE-12",
    rule: "runs §14.7",
    says: "a message is steered in during a tool batch, then the run is cancelled / look-up / the message is in the history or in the queue, never lost, and the cancel answer says which",
  },
  {
    id: "STATE-13",
    rule: "runs §7.5",
    says: "a second message to a busy chat / posted / 202 with `steered` or `queued`; an answer follows",
  },
  { id: "FLOW-01", rule: "runs §18.1", says: "`message.delta` with a chunk / normalised / a message chunk" },
  {
    id: "FLOW-02",
    rule: "runs §18.3",
    says: "`message.delta` without chunk, `message.completed` without message / normalised / dropped; the run goes on",
  },
  {
    id: "FLOW-03",
    rule: "runs §18.2",
    says: "type `foo.bar`, or an older name / normalised / ignored with a warning",
  },
  {
    id: "FLOW-04",
    rule: "runs §18.1",
    says: "`run.failed` with error, code and retryable / normalised / an execution error with these three",
  },
  { id: "FLOW-05", rule: "runs §18.5", says: "a sequence number twice / streamed / the second is dropped" },
  {
    id: "FLOW-06",
    rule: "runs §18.1, 18.3",
    says: "a valid `state.updated`, then an invalid one / streamed / stored and not part of the reply; dropped",
  },
  {
    id: "FLOW-07",
    rule: "runs §18.4",
    says: "a text result above 1 MiB; another kind above 1 MiB / streamed / cut to 10,000 characters with suffix before storing; refused",
  },
  {
    id: "FLOW-08",
    rule: "runs §7.3",
    says: "the runner throws half-way / run / execution error; nothing stays registered",
  },
  {
    id: "FLOW-09",
    rule: "runs §19.2",
    says: "the runner sleeps past the deadline / run / `runner.timeout`, retryable, stream closed, nothing stays registered",
  },
  {
    id: "FLOW-10",
    rule: "runs §19.4",
    says: "cancel requested while running / next result / iteration stops, status `cancelled`",
  },
  {
    id: "FLOW-11",
    rule: "runs §8.3",
    says: "a plugin prevents the default with a reply; without one / handled / that reply and no runner; silence",
  },
  {
    id: "FLOW-12",
    rule: "runs §8.3",
    says: "`user_message_alter` as a string / handled / the runner gets the altered text",
  },
  {
    id: "FLOW-13",
    rule: "runs §21.1",
    says: "streaming, three deltas / handled / one response id, always only the newest snapshot, the final chunk marks completion",
  },
  {
    id: "FLOW-14",
    rule: "runs §21.3",
    says: "non-streaming, two results / handled / both kept, one CONTINUE",
  },
  {
    id: "FLOW-15",
    rule: "runs §21.6",
    says: 'a retryable execution error; one that is not / handled / INTERRUPT with "temporarily unavailable"; INTERRUPT with the other text',
  },
  {
    id: "FLOW-16",
    rule: "runs §21.6",
    says: "runner not found; not authorised / handled / INTERRUPT with the fitting notice each",
  },
  {
    id: "FLOW-17",
    rule: "runs §17.4",
    says: "a message with a base64 image / event record and transcript written / a redaction mark in its place, base64 nowhere in storage",
  },
  {
    id: "FLOW-18",
    rule: "runs §9.3, 19.4",
    says: "the client drops its SSE connection in the middle / run / it goes on and the result can be fetched; an explicit cancel stops a running exec within 1 s",
  },
  {
    id: "FLOW-19",
    rule: "runs §9.4",
    says: "the same, then a reconnect with the last seen event id / reconnected / the missed events in order, none twice, none missing",
  },
  {
    id: "FLOW-20",
    rule: "runs §9.5",
    says: "the provider's connection dies in the middle / client stream / an error event comes before the close; the run is not a success",
  },
  {
    id: "FLOW-21",
    rule: "runs §9.2",
    says: "one message posted again with its idempotency key after a failed run; after a good one / posted / a new attempt with the same attachments and no second copy in the box; the same run",
  },
  {
    id: "FLOW-22",
    rule: "runs §9.2",
    says: "one key posted five times at once / posted / one run, one delivery",
  },
  {
    id: "AGENT-01",
    rule: "local-agent §1",
    says: "primary `m1`, fallbacks `m2, m1, x`; `m1, m2` authorised / parsed / [m1, m2]",
  },
  {
    id: "AGENT-02",
    rule: "local-agent §1.1",
    says: "primary not authorised; nothing authorised / parsed / fallbacks only; `runner.no_model` and no call",
  },
  {
    id: "AGENT-03",
    rule: "local-agent §1",
    says: "`timeout` missing, −1, true; 0 and null; 12 / parsed / 300; off; 12",
  },
  {
    id: "AGENT-04",
    rule: "local-agent §1",
    says: '`max-tool-iterations` 0, 2; `max-tool-result-chars` "1234", 0, 1234 / parsed / 100, 2; 20000, 20000, 1234',
  },
  {
    id: "AGENT-05",
    rule: "local-agent §1",
    says: "`tool-execution-mode` an unknown word, or true / parsed / parallel",
  },
  { id: "AGENT-06", rule: "local-agent §1", says: '`remove-think: "true"` / parsed / false' },
  {
    id: "AGENT-07",
    rule: "local-agent §2.1",
    says: "the host has an effective prompt / assembled / it replaces the configured one",
  },
  {
    id: "AGENT-08",
    rule: "local-agent §2.2",
    says: "a prompt entry that is a number or an unknown part / assembled / explicit error; nothing dropped silently",
  },
  {
    id: "AGENT-09",
    rule: "local-agent §2.4",
    says: "skills with & and < in their names; one without description; none / assembled / escaped; listed; no message",
  },
  {
    id: "AGENT-10",
    rule: "local-agent §4.1",
    says: "contents with text equal to the input text, and an image / assembled / the text once, the image kept",
  },
  {
    id: "AGENT-11",
    rule: "runs §12.1",
    says: "a surface without streaming / assembled / the non-streaming call",
  },
  {
    id: "AGENT-12",
    rule: "local-agent §5.1",
    says: "a tool with a pre-filled schema; one whose detail call fails / tools built / no detail call; left out, the run goes on",
  },
  {
    id: "AGENT-13",
    rule: "local-agent §1",
    says: "`advanced-settings` true and false / assembled / identical requests",
  },
  {
    id: "RAG-01",
    rule: "local-agent §3.1",
    says: "knowledge bases a and b, only a authorised / run / only a is asked",
  },
  {
    id: "RAG-02",
    rule: "local-agent §3.3",
    says: "top-k 2, two bases with two chunks each, no rerank / run / two chunks in total, in retrieval order",
  },
  {
    id: "RAG-03",
    rule: "local-agent §3.3",
    says: "the rerank model is not authorised / run / not called; retrieval result used",
  },
  {
    id: "RAG-04",
    rule: "local-agent §3.4",
    says: "a chunk with a closing tag and instructions in it / assembled / JSON-escaped, in its own system message before the user message",
  },
  { id: "RAG-05", rule: "local-agent §3.2", says: "one base fails / run / chunks of the other are used" },
  {
    id: "LOOP-01",
    rule: "local-agent §6.2",
    says: "a call, then an answer / run / assistant call, tool message with the same id, final answer",
  },
  {
    id: "LOOP-02",
    rule: "local-agent §7.1",
    says: 'a call of a tool that is not granted / run / a "not authorized" result; the run goes on',
  },
  {
    id: "LOOP-03",
    rule: "local-agent §7.1",
    says: 'a tool throws "forced failure" / run / the model sees `Error: Tool execution failed: forced failure`; the run completes',
  },
  {
    id: "LOOP-04",
    rule: "local-agent §7.2",
    says: "a tool throws `deadline_exceeded` / run / `runner.timeout` with the usage so far",
  },
  {
    id: "LOOP-05",
    rule: "local-agent §7.4",
    says: "parallel mode, two slow tools, the second faster / batch / they overlap; tool messages in call order",
  },
  {
    id: "LOOP-06",
    rule: "local-agent §7.5",
    says: "parallel mode, `activate` and some `read_tool` in one batch / batch / parallel: names decide nothing",
  },
  {
    id: "LOOP-07",
    rule: "local-agent §6.7",
    says: "all results have `terminate: true`; one of two has it / batch / no further model call and completed; the loop goes on",
  },
  {
    id: "LOOP-08",
    rule: "local-agent §6.5, 6.6",
    says: "limit 2 and a model that always calls / run / 2 executions, 3 model calls, a visible limit message, completed",
  },
  {
    id: "LOOP-09",
    rule: "local-agent §6.5",
    says: "limit 3 and a model that calls while it has tools / run / the last request has no tools and its text is the answer; exported files are delivered; the state names the limit",
  },
  {
    id: "LOOP-10",
    rule: "local-agent §12.13",
    says: "calls without ids / run / generated ids `call_…`, all different",
  },
  {
    id: "LOOP-11",
    rule: "local-agent §6.8",
    says: "a before-tool or next-turn hook throws; an after-model hook throws / run / `runner.tool_error`; `runner.error`",
  },
  {
    id: "LOOP-12",
    rule: "local-agent §19.1",
    says: "a steering message during a batch / run / a user message before the next model call; one final reply",
  },
  {
    id: "LOOP-13",
    rule: "local-agent §18.1",
    says: "two turns with usage / run / sums and a list per turn on the terminal result",
  },
  {
    id: "LOOP-14",
    rule: "local-agent §1.2",
    says: "two runs at once / run / each streams only its own answer",
  },
  {
    id: "LOOP-15",
    rule: "runs §23",
    says: "local timeout 1 s, slow model / run / `runner.timeout`, retryable, usage so far",
  },
  {
    id: "LOOP-16",
    rule: "local-agent §1",
    says: "timeout 0, slow model / run / no local timeout; the host's `deadline_exceeded` still gives `runner.timeout`",
  },
  {
    id: "LOOP-17",
    rule: "local-agent §8.2",
    says: "`exec ls` with the same arguments in every round / run / a warning with the third result, the end after the fifth, at most 6 model calls, `finish_reason: loop`",
  },
  {
    id: "LOOP-18",
    rule: "local-agent §7.1, 8.2",
    says: "arguments that are a bare array, repeated for ever / run / an error that an object is needed, with an example; the guard ends it",
  },
  {
    id: "LOOP-19",
    rule: "local-agent §7.1",
    says: "five calls of the unknown tool `calculator` in one reply / run / one full message (does not exist, these exist, did you mean), four short ones",
  },
  {
    id: "LOOP-20",
    rule: "local-agent §7.1",
    says: "a call of an unknown `run_python` / run / a tool error; the run goes on",
  },
  {
    id: "LOOP-21",
    rule: "local-agent §7.5",
    says: "[write a, read a] in one parallel batch / batch / the read sees what was written",
  },
  {
    id: "LOOP-22",
    rule: "local-agent §7.4",
    says: "[`exec sleep 1`, an unknown tool] in one batch / batch / tool messages in call order",
  },
  {
    id: "LOOP-23",
    rule: "local-agent §7.3",
    says: "six calls in a batch, one times out, one is unknown / batch / six tool messages, in order, directly after the assistant message",
  },
  { id: "BOUND-01", rule: "local-agent §9.1", says: "a string below the limit / bounded / identical" },
  {
    id: "BOUND-02",
    rule: "local-agent §9.2",
    says: "nine characters, limit 4 / bounded / the first four, then the marker with original_chars=9, kept_chars=4",
  },
  {
    id: "BOUND-03",
    rule: "local-agent §9.2",
    says: "an error text, limit 24 / bounded / begins with the error prefix, kept_chars=24, marker there",
  },
  {
    id: "BOUND-04",
    rule: "local-agent §9.5",
    says: "a bounded result / event / the preview object with type, reason, original_chars, preview",
  },
  {
    id: "BOUND-05",
    rule: "local-agent §9.3",
    says: "`exec` prints 700 KB in two rounds / run / bounded previews with a pointer to the full text; no overflow",
  },
  {
    id: "MODEL-01",
    rule: "local-agent §6.4",
    says: "the primary fails without streaming / run / the fallback answers, and later turns use only it",
  },
  {
    id: "MODEL-02",
    rule: "local-agent §10.2",
    says: "the primary throws before its first chunk / stream / the fallback streams",
  },
  {
    id: "MODEL-03",
    rule: "local-agent §10.7",
    says: "the primary's stream is empty / stream / the fallback",
  },
  {
    id: "MODEL-04",
    rule: "local-agent §10.5",
    says: 'failure after the first text / stream / run.failed with "no fallback possible", fallback called 0 times, not retryable',
  },
  { id: "MODEL-05", rule: "local-agent §11.1", says: "null chunks in between / stream / skipped" },
  {
    id: "MODEL-06",
    rule: "local-agent §12.6",
    says: "arguments in pieces, the later ones without id / accumulated / one call with the joined arguments",
  },
  {
    id: "MODEL-07",
    rule: "local-agent §11.2",
    says: "20 quick chunks and a final one / accumulated / snapshots at 8, 16 and final, cumulative, calls only on the final one, sequence +1 each",
  },
  {
    id: "MODEL-08",
    rule: "local-agent §11.4",
    says: 'text "before", a tool round, text "after" / stream / snapshots never shrink: "before …", then "before after"',
  },
  {
    id: "MODEL-09",
    rule: "local-agent §11.8",
    says: "leading thinking without an opening tag / next request of the tool loop / not in the model's context",
  },
  {
    id: "MODEL-10",
    rule: "local-agent §13.6",
    says: "`remove-think` true / model call / the flag is passed on",
  },
  {
    id: "MODEL-11",
    rule: "local-agent §11.4",
    says: "text, tool, final answer / run / order assistant, tool, assistant; the first text is not repeated in the final message",
  },
  {
    id: "MODEL-12",
    rule: "local-agent §13.2, 13.3",
    says: "binding says `provider_default`, the model stores `high`; binding says `low` / request / no reasoning argument; low; the shared model is unchanged",
  },
  {
    id: "MODEL-13",
    rule: "local-agent §10.2, 10.8",
    says: "the primary answers 429 on the first request, the fallback is fine / run / the fallback's answer, one line in the trace",
  },
  {
    id: "MODEL-14",
    rule: "local-agent §10.3, 10.6",
    says: "round 1 works and exports, round 2 answers 429 for ever / run / same-model retries, then a failed run that still delivers the file and says what was done",
  },
  {
    id: "MODEL-15",
    rule: "local-agent §11.1",
    says: "status 200, a role-only chunk, then a reset / stream / the fallback; nothing shown from the first",
  },
  {
    id: "MODEL-16",
    rule: "local-agent §10.5",
    says: "two text chunks, then a reset / stream / no second model, an error event, the stored text is marked partial",
  },
  {
    id: "WIRE-01",
    rule: "local-agent §12.6, 12.13",
    says: "the first call piece has an index, a name and no id; argument pieces follow by index / run / one exec runs once; the id made up for it is the same in the stored message and the tool message; no argument text reaches the user",
  },
  {
    id: "WIRE-02",
    rule: "local-agent §12.6",
    says: "id, name and index 0 on the first piece only; later pieces have index 0 / run / exactly one call",
  },
  {
    id: "WIRE-03",
    rule: "local-agent §12.6",
    says: "two whole calls with own ids and no index at all / run / two calls in order of arrival",
  },
  {
    id: "WIRE-04",
    rule: "local-agent §12.6, 12.8",
    says: "three whole calls, ids c1 to c3, all with index 0 / run / three executions; in the next request each call's arguments parse",
  },
  {
    id: "WIRE-05",
    rule: "local-agent §7.1",
    says: 'one call whose arguments are two objects back to back, `{"command":"echo 1"}{"command":"echo 2"}` / run / both commands run as two calls, or none runs and the model is told why; never an exec with empty arguments',
  },
  {
    id: "WIRE-06",
    rule: "local-agent §12.6, 12.7",
    says: "index 1 with only an id, then only a name, then arguments / run / one call; no nameless call; no empty tool_call_id in the next request",
  },
  {
    id: "WIRE-07",
    rule: "local-agent §10.1, 12.13",
    says: "two calls at index 0 and 1 without ids, streaming and not / run / the same two executions in both modes, ids unique",
  },
  {
    id: "WIRE-08",
    rule: "local-agent §12.13, 12.14",
    says: "two calls in one reply share one id; strict on pairing / run / both run; outgoing ids unique and paired",
  },
  {
    id: "WIRE-09",
    rule: "local-agent §12.14",
    says: "two identical calls with one id, then five more rounds / run / tool messages per request = calls made; no growth",
  },
  {
    id: "WIRE-10",
    rule: "local-agent §12.13",
    says: "the primary gave a 60-character id, the next run uses a fallback that refuses more than 40 / run / accepted; still paired",
  },
  {
    id: "WIRE-11",
    rule: "local-agent §7.1",
    says: '`exec` and `export_box_files` with arguments "" / run / read as `{}`; the missing field comes back as a tool error that names it; the run goes on',
  },
  {
    id: "WIRE-12",
    rule: "local-agent §7.1",
    says: "exec arguments cut in the middle of a string / run / no execution; the result names the tool, says invalid JSON and lists the fields",
  },
  {
    id: "WIRE-13",
    rule: "local-agent §7.1, 12.17",
    says: "arguments encoded twice; arguments as an object / run / the command runs once each; the history carries a string",
  },
  {
    id: "WIRE-14",
    rule: "local-agent §6.3",
    says: 'text and three calls with finish reason "stop" (also null, "function_call", "eos") / run / the calls run and the loop goes on',
  },
  {
    id: "WIRE-15",
    rule: "local-agent §10.7",
    says: 'finish reason "tool_calls" with no calls and no text, repeatedly / run / at most one reminder, then an error; at most 2 requests',
  },
  {
    id: "WIRE-16",
    rule: "local-agent §10.7",
    says: 'after a tool round: no content, no calls, "stop" / run / one bounded retry, then a visible run error; no empty success',
  },
  {
    id: "WIRE-17",
    rule: "local-agent §12.10–12.12",
    says: "a write call cut at the token limit that would parse only after repair / run / not executed; the model is told that it was cut and to use smaller pieces",
  },
  {
    id: "WIRE-18",
    rule: "local-agent §8.4",
    says: "every reply is the same cut call / run / at most 3 model calls, then a clear reason",
  },
  {
    id: "WIRE-19",
    rule: "local-agent §11.5",
    says: "the socket closes after two chunks without a finish reason / run / incomplete, an error; not a clean end",
  },
  {
    id: "WIRE-20",
    rule: "local-agent §12.3",
    says: "a final chunk with an empty choice list and usage / run / answer delivered, usage recorded",
  },
  {
    id: "WIRE-21",
    rule: "local-agent §11.1, 12.3",
    says: "a first chunk with an empty choice list, then text / run / text delivered; the first chunk did not commit the model",
  },
  {
    id: "WIRE-22",
    rule: "local-agent §12.4",
    says: "an `error` object in a 200 stream, before text; after text / run / the fallback is tried; the run ends with that message, the text is kept and marked",
  },
  {
    id: "WIRE-23",
    rule: "local-agent §12.1",
    says: "the bytes of 你好🎉 cut at every position, in text and in arguments / run / exact text; the written file has the exact bytes",
  },
  { id: "WIRE-24", rule: "local-agent §12.1", says: "a text chunk with U+2028 / run / delivered unchanged" },
  {
    id: "WIRE-25",
    rule: "local-agent §12.2",
    says: "two JSON values on one data line; one value over two events / run / recovered, or a run error; arguments are never lost silently",
  },
  {
    id: "WIRE-26",
    rule: "local-agent §11.6",
    says: "`remove-think`; content `plan…</think>` and then Hello / run / the user sees only Hello; the raw text is stored",
  },
  {
    id: "WIRE-27",
    rule: "local-agent §11.6",
    says: "`remove-think`; `<thinking>secret</thinking>Hi`, the tags split over chunks; also without streaming / run / only Hi",
  },
  {
    id: "WIRE-28",
    rule: "local-agent §11.6",
    says: "`remove-think`; think block and then a proper call / run / the call runs, the thinking is not shown",
  },
  {
    id: "WIRE-29",
    rule: "local-agent §11.6",
    says: "`remove-think`; round 1 clean, round 2 thinks before it answers / run / nothing leaks",
  },
  {
    id: "WIRE-30",
    rule: "local-agent §11.9",
    says: "the same textual call inside a think block and after it / run / one execution",
  },
  {
    id: "WIRE-31",
    rule: "local-agent §12.16",
    says: "a server that refuses empty text blocks; an assistant message with only calls / request / content null",
  },
  {
    id: "WIRE-32",
    rule: "local-agent §12.25",
    says: 'a server that answers 400 to content null / request / one adapted retry with "", remembered; the unchanged request is never repeated',
  },
  {
    id: "WIRE-33",
    rule: "local-agent §12.16",
    says: "history with an assistant turn without text and calls / request / left out; never null",
  },
  {
    id: "WIRE-34",
    rule: "local-agent §12.18",
    says: "`reasoning_content` before a call, and a server that wants it back / round 2 / there, word for word, on that message; not shown to the user",
  },
  {
    id: "WIRE-35",
    rule: "local-agent §12.18",
    says: "turn 1 a plain answer with reasoning, turn 2 with tools / requests / echoed on the tool turn only; plain turns do not grow",
  },
  {
    id: "WIRE-36",
    rule: "local-agent §12.18",
    says: "a call with `extra_content.google.thought_signature`; strict / later requests / byte-equal, also after a reload from storage",
  },
  {
    id: "WIRE-37",
    rule: "local-agent §12.19",
    says: "the stored history already lacks it and is refused / next user message / works, repaired or trimmed, with a notice",
  },
  {
    id: "WIRE-38",
    rule: "local-agent §12.25",
    says: "a server that answers 400 naming an unknown request field (`parallel_tool_calls`, `stream_options`) / request / the field is dropped, one retry, remembered for the model",
  },
  {
    id: "WIRE-39",
    rule: "local-agent §5.2",
    says: "a server that refuses `$schema`, `const` or `additionalProperties` in tool schemas / run / works",
  },
  {
    id: "WIRE-40",
    rule: "local-agent §12.15",
    says: "a run was killed between call and results / next message / the request is valid: an interrupted result, or the call left out",
  },
  {
    id: "BUDGET-01",
    rule: "local-agent §14.1",
    says: "host window above the configured 300; below it / budget / 300; the host's value",
  },
  {
    id: "BUDGET-02",
    rule: "local-agent §14.2",
    says: "maximum output 4096, window 32000, reserve 10000, summary 8000 / budget / summary 4096",
  },
  {
    id: "BUDGET-03",
    rule: "local-agent §14.4",
    says: "no token counter / run / token counter required; no model call",
  },
  {
    id: "BUDGET-04",
    rule: "local-agent §15.7",
    says: "history over budget / compacted / the old part summarised, the newest kept, total within input",
  },
  {
    id: "BUDGET-05",
    rule: "local-agent §15.7",
    says: "a summary is already there / compacted / one merged summary",
  },
  {
    id: "BUDGET-06",
    rule: "local-agent §15.8",
    says: "the summary call fails / compacted / the deterministic list",
  },
  {
    id: "BUDGET-07",
    rule: "local-agent §15.10",
    says: "a tiny budget / compacted / the current input is still there",
  },
  {
    id: "BUDGET-08",
    rule: "local-agent §15.10",
    says: "the prompt alone is over budget / compacted / the current user message, or the current tool turn, is kept",
  },
  {
    id: "BUDGET-09",
    rule: "local-agent §15.1",
    says: "an orphan tool message, an unanswered call, a reasoning block / sanitised / removed; legal pairs stay",
  },
  {
    id: "BUDGET-10",
    rule: "local-agent §17.2",
    says: "a valid checkpoint / assembled / its summary injected, history fetched forward over all pages",
  },
  {
    id: "BUDGET-11",
    rule: "local-agent §17.5",
    says: "the run compacted; the run only read a checkpoint / end / written with all fields; not written",
  },
  {
    id: "BUDGET-12",
    rule: "local-agent §16.1",
    says: "the provider reports overflow before output / stream / one stricter compaction, one retry on the same model, then the answer",
  },
  {
    id: "BUDGET-13",
    rule: "local-agent §16.3",
    says: '"rate limit exceeded: too many tokens per minute", "Throttling error: Too many tokens"; "context_length_exceeded", "400 status code (no body)" / classified / not overflow; overflow',
  },
  {
    id: "BUDGET-14",
    rule: "local-agent §17.4",
    says: "the current event is already in the history / assembled / once",
  },
  {
    id: "BUDGET-15",
    rule: "local-agent §16",
    says: '400 "This model\'s maximum context length is N tokens. However, you requested…" / run / one compaction with a smaller budget, one retry, then an error',
  },
  {
    id: "BUDGET-16",
    rule: "local-agent §12.20",
    says: "a server that enforces prompt + max_tokens ≤ window; tiny prompts / run / accepted",
  },
  {
    id: "BUDGET-17",
    rule: "local-agent §14.3",
    says: "a small history, then a message near the window / run / the request is counted before it is sent, and compaction comes first",
  },
  {
    id: "BUDGET-18",
    rule: "local-agent §15.3",
    says: "a long chat full of tools; strict / after compaction / every tool message has its call right before it",
  },
  {
    id: "BUDGET-19",
    rule: "local-agent §15.8",
    says: "history too large for the summariser as well / compacted / made in pieces on unit borders, or it says why not; the run goes on",
  },
  {
    id: "BUDGET-20",
    rule: "local-agent §15.11",
    says: "system + tools + current message above the window / run / at most 2 attempts, one clear error, no further model call",
  },
  {
    id: "BUDGET-21",
    rule: "local-agent §14.6",
    says: "window 32k, tools and system 29k, an empty chat / run / no compaction",
  },
  {
    id: "BUDGET-22",
    rule: "local-agent §14.3",
    says: "a 3 MB PNG and a vision model / run / flat cost for the image; no compaction",
  },
  {
    id: "BUDGET-23",
    rule: "local-agent §4.5",
    says: "one image, then ten more turns / requests / later ones carry a placeholder and the box path; the size stays flat",
  },
  {
    id: "BUDGET-24",
    rule: "local-agent §15.12",
    says: "compaction just ran, the next round is tiny / run / it ran once",
  },
  {
    id: "KEY-01",
    rule: "box §2.4",
    says: "the default template / rendered / `person_<id>` for a person chat, `group_<id>` for a group",
  },
  { id: "KEY-02", rule: "box §2.1", says: "`{global}`, two chats / run / one box" },
  {
    id: "KEY-03",
    rule: "box §2.3",
    says: "`{nope}`, or a null variable / run / an error that names it; nothing acquired, nothing shared",
  },
  { id: "KEY-04", rule: "box §2.1", says: "`{run_id}`, two runs / run / two boxes" },
  {
    id: "KEY-05",
    rule: "box §2.4",
    says: "a key of 1025 characters, or an empty one / acquire / validation error",
  },
  {
    id: "KEY-06",
    rule: "box §2.7",
    says: "status demands the key `global`, template `{sender_id}` / run / `global` is acquired",
  },
  {
    id: "KEY-07",
    rule: "box §2.4",
    says: 'template `{a}_{b}`; (a="x_y", b="z") and (a="x", b="y_z"); also values with `%5F` / run / different boxes',
  },
  { id: "KEY-08", rule: "box §2.2", says: "template `{a}{b}`, and `{a}x{b}` / save / refused: no separator" },
  {
    id: "KEY-09",
    rule: "box §2.5",
    says: "templates `{launcher_type}_{launcher_id}` and `{bot_id}_{sender_id}` that render the same text / run / different boxes",
  },
  {
    id: "KEY-10",
    rule: "box §2.3",
    says: "ids that differ only in Unicode composition or in a trailing space / run / different boxes",
  },
  { id: "KEY-11", rule: "box §2.3", says: "an empty `sender_id` / run / an error that names it" },
  {
    id: "KEY-12",
    rule: "box §4.1",
    says: "acquire with `host_path`, `extra_mounts`, `max_sessions`, `memory_mb` or `session_id` / called / refused, nothing created; `image` is accepted where allowed",
  },
  {
    id: "KEY-13",
    rule: "box §4.2",
    says: "two acquires of one key at once, and two first uses / called / one box id, one container",
  },
  {
    id: "KEY-14",
    rule: "box §4.3",
    says: 'a run bound to box A / bind B; two different binds at once / "cannot change"; exactly one wins',
  },
  {
    id: "KEY-15",
    rule: "box §4.4",
    says: "a native tool before the bind / called / an error that says to bind first",
  },
  {
    id: "KEY-16",
    rule: "box §3.1",
    says: "switched off by configuration; engine dead / status / enabled false and available false; enabled true, available false and a reason",
  },
  {
    id: "KEY-17",
    rule: "box §3.1",
    says: "engine not reachable, capacity unknown / status / available false, limit and remaining null",
  },
  { id: "KEY-18", rule: "box §4.5", says: "no exec or file tool authorised / run / no box is acquired" },
  {
    id: "KEY-19",
    rule: "box §4.6",
    says: "the engine is unavailable, a box is needed / run / the run fails with that error",
  },
  {
    id: "KEY-20",
    rule: "box §4.2",
    says: "a fresh chat: eight exec calls in one reply; 20 messages at once / run / one box; no name conflict is shown",
  },
  {
    id: "IN-01",
    rule: "box §7.4, 7.6",
    says: "an image and a text file / import / both in the run's inbox, paths in the message, file part removed, image kept",
  },
  { id: "IN-02", rule: "box §7.1", says: "no attachments / import / content unchanged, no exec" },
  {
    id: "IN-03",
    rule: "box §7.6",
    says: "importing one file throws / import / the run goes on; model and caller are told which and why, once",
  },
  {
    id: "IN-04",
    rule: "box §7.5",
    says: 'names `../../etc/passwd`, `/a/b/c.png`, `a b c.txt`, empty and "...", shell characters / import / `passwd`, `c.png`, `a_b_c.txt`, fallback names, no `/` or `$`, extension kept',
  },
  { id: "IN-05", rule: "box §7.3", says: "base64 above the per-file limit / import / refused" },
  {
    id: "IN-06",
    rule: "box §7.2",
    says: "an event attachment with the path `/etc/passwd` / prepared / path null, reference attachment-0, nothing read",
  },
  {
    id: "IN-07",
    rule: "box §7.1",
    says: "an unknown reference; one already imported / import / error; the same entry again",
  },
  {
    id: "IN-08",
    rule: "box §7.2",
    says: "metadata lists image then file, the platform chain file then image / prepared / metadata order",
  },
  {
    id: "IN-09",
    rule: "box §5.1",
    says: "a leftover inbox directory of the same run / import / old content gone",
  },
  {
    id: "IN-10",
    rule: "box §7.5",
    says: "names 何不同舟渡_2.txt, é.csv, 🎉.png by multipart, data URI and URL / import / the same name in the box and in the note",
  },
  {
    id: "IN-11",
    rule: "box §7.4",
    says: "`image.png` in message 1 and another in message 2; two in one message / import / both readable, distinct paths, the right content told",
  },
  {
    id: "IN-12",
    rule: "box §5",
    says: "five files, five exec rounds, then another message / run / all five there each time",
  },
  {
    id: "IN-13",
    rule: "box §7.3, 7.6",
    says: "an 11 MB file with a limit of 10 MB; a URL with a lying length header / import / model and caller told name, size and limit; the run goes on",
  },
  {
    id: "IN-14",
    rule: "local-agent §12.23",
    says: "a 2.4 MB data-URI image, the provider answers 413 / run / ends with a clear error, no unhandled rejection, the chat is usable",
  },
  { id: "IN-15", rule: "local-agent §4.4", says: "a 5 MB PDF / model request / path, type and size only" },
  {
    id: "IN-16",
    rule: "box §7.7",
    says: "a zip or tar with parent paths and links / import / stored as it is; nothing outside the inbox",
  },
  {
    id: "IN-17",
    rule: "box §5.2",
    says: "an attached file, then `exec` appends to it / run / works as the box user",
  },
  {
    id: "IN-18",
    rule: "box §6.5",
    says: "a PNG attachment and a `write` with NUL characters / run / byte-equal",
  },
  {
    id: "IN-19",
    rule: "runs §7.7",
    says: "the service restarts / new runs / run ids never repeat, directories are never reused",
  },
  {
    id: "OUT-01",
    rule: "box §8.1",
    says: "a file in the outbox, no export / run end / nothing delivered, file still there",
  },
  {
    id: "OUT-02",
    rule: "box §8.2, 8.6",
    says: "export of `/workspace/outbox/R/a.pdf` / called / name, size and handle without base64; only a.pdf removed",
  },
  { id: "OUT-03", rule: "box §8.2", says: "outbox with a and b, a exported / called / b untouched" },
  {
    id: "OUT-04",
    rule: "box §8.9",
    says: "an error, then a corrected call / same run / success within the same budgets, ordinary iterations",
  },
  {
    id: "OUT-05",
    rule: "box §8.8",
    says: "the file is changed after the export / run end / the bytes of the export moment are sent",
  },
  {
    id: "OUT-06",
    rule: "box §8.4",
    says: "total above the run's limit / export / refused before anything is registered",
  },
  { id: "OUT-07", rule: "box §9.3", says: "text was streamed, then an export fails / run / the text stays" },
  {
    id: "OUT-08",
    rule: "runs §18.8",
    says: "a file id of another run, or used twice / completed message / refused",
  },
  {
    id: "OUT-09",
    rule: "box §8.10",
    says: "chart.png, photo.JPG, clip.mp3, report.pdf, a name without extension / delivered / image, image, voice, file, file; inline surfaces get data URI for the first three and base64 for the rest; base name only",
  },
  {
    id: "OUT-10",
    rule: "box §5.1",
    says: "two runs in one box, each exports / delivered / different directories, nothing crosses over",
  },
  {
    id: "OUT-11",
    rule: "box §9.8",
    says: "an outbox with 100,000 entries / export of one file / works, or fails closed; nothing is walked without bound",
  },
  {
    id: "OUT-12",
    rule: "box §8.3, 8.5",
    says: "exports of `/workspace/report.md`, `../x` and a relative name / called / accepted; refused; refused with the exact outbox path, and the next try with it works",
  },
  {
    id: "OUT-13",
    rule: "runs §21.5",
    says: "the final text links to `/workspace/outbox/…` or `sandbox:/…` / delivered / the link of the delivered file, or a note that it was not delivered",
  },
  {
    id: "OUT-14",
    rule: "box §8.3, 8.7",
    says: "`../../etc/passwd`, a link to /etc/shadow, a linked directory, a hard link, a fifo, a device / export / each refused; host files untouched; clean-up removes only what was listed",
  },
  {
    id: "OUT-15",
    rule: "box §6.4, 5.1",
    says: "`ln -s /root /workspace/inbox`, then the next run / run / mount sources never come from box content; the link is removed in the box only",
  },
  {
    id: "OUT-16",
    rule: "box §8.3",
    says: "paths `/`, empty, `.`, the outbox itself / export / refused, nothing deleted",
  },
  {
    id: "OUT-17",
    rule: "box §9.1, 9.6",
    says: "text and two files; the webhook receiver answers 500 after storing / delivered / both text and files; the file id is the same in every repeat; no file is sent again by itself",
  },
  {
    id: "OUT-18",
    rule: "local-agent §7.5",
    says: "[`exec sleep 1; echo hi > out.txt`, export of out.txt] in one batch / batch / the export waits, no half file",
  },
  {
    id: "OUT-19",
    rule: "box §8.5, 8.6",
    says: "the model runs `ls` in the outbox after an export, then exports the path again / run / the first result already said registered and removed; the second says so with the file id; no duplicate",
  },
  {
    id: "OUT-20",
    rule: "box §9.1",
    says: "one run over REST, SSE, webhook and the chat-completions endpoint / delivered / files present in all four",
  },
  {
    id: "OUT-21",
    rule: "box §8.8",
    says: "a file vanishes between check and read / export / that export fails; the run and other files are fine",
  },
  { id: "BOX-01", rule: "box §12.4", says: "`echo` / exec / exit 0, stdout, ok true" },
  { id: "BOX-02", rule: "box §11", says: "a file written in one call / read in the next / same content" },
  { id: "BOX-03", rule: "box §10.6", says: "network off / connect out / fails" },
  {
    id: "BOX-04",
    rule: "box §11.2, 11.5",
    says: "idle beyond the limit / reaper, then a new message / container gone; comes back with files and without processes, and the model is told",
  },
  { id: "BOX-05", rule: "box §11.2", says: "a job runs; idle limit ≤ 0 / reaper / not touched" },
  {
    id: "BOX-06",
    rule: "box §11.7",
    says: "another memory limit for one key: box busy; box idle; same values / acquire / conflict that names the field; recreated with its files; reused",
  },
  { id: "BOX-07", rule: "box §11.1", says: "two boxes that start slowly / started / in parallel" },
  { id: "BOX-08", rule: "box §12.1", says: "an empty command / exec / validation error" },
  {
    id: "BOX-09",
    rule: "box §10.1, 18.2",
    says: "settings given / container inspected / network none, cpus, memory, pids, read-only root with tmpfs, labels and mount modes as set; non-root, no capabilities, no-new-privileges, seccomp on",
  },
  {
    id: "BOX-10",
    rule: "box §10.4",
    says: "a mount source that is not allowed / start / validation error before the engine is called",
  },
  {
    id: "BOX-11",
    rule: "box §12.5",
    says: "output above the capture limit / exec / cut, with a note of the total",
  },
  {
    id: "BOX-12",
    rule: "box §18.4",
    says: "an exec is cancelled / cancel / process killed and reaped, counter 0",
  },
  {
    id: "BOX-13",
    rule: "box §11.11",
    says: "containers of this service without an owner, of a living owner, and of another service; a failing list / start-up / the first removed or taken over, the others untouched; ignored and repeated",
  },
  {
    id: "BOX-14",
    rule: "box §10.2",
    says: "a locked network setting, caller asks for on; an unlocked one; timeout above the maximum, also as text; unknown profile / resolved / off; overridden; 120; error",
  },
  { id: "BOX-15", rule: "box §3.4", says: "60 errors / recent errors / the newest 50 in order" },
  {
    id: "BOX-16",
    rule: "box §11.4, 11.5",
    says: "`docker rm -f` between runs, and during an exec / next call / recreated, workspace kept, model told that processes are gone",
  },
  {
    id: "BOX-17",
    rule: "box §11.8",
    says: "delete, and a message at the same moment / run / the new box; no call to the old container id",
  },
  {
    id: "BOX-18",
    rule: "box §1.3, 5",
    says: "pip install into HOME, then a run that errors / next turn / box and installs still there",
  },
  {
    id: "BOX-19",
    rule: "box §4.8",
    says: "a bad attachment, an image error, a dead model right after creation, 15 times / afterwards / the box count returns to the base",
  },
  {
    id: "BOX-20",
    rule: "box §11.11",
    says: "two services on one engine, one restarts / run of the other / unharmed; only own, dead boxes removed",
  },
  {
    id: "BOX-21",
    rule: "box §11.9",
    says: "ten expired boxes / reaped / directories follow the retention rule; disk use falls",
  },
  {
    id: "BOX-22",
    rule: "box §11.11, 18.5",
    says: "the service is killed with SIGKILL at 20 random moments / restart / boxes in the engine = boxes in the records within 60 s",
  },
  {
    id: "BOX-23",
    rule: "box §11.2",
    says: "idle limit 2 s, the model thinks 5 s between calls / run / never reaped",
  },
  {
    id: "BOX-24",
    rule: "box §11.2",
    says: "idle limit 3 s, an exec every 2 s for 10 s / run / the same box throughout",
  },
  {
    id: "BOX-25",
    rule: "box §11.7",
    says: "image, limits or mounts changed in the config, same chat; nothing changed / next run / recreated or reported, workspace kept; reused",
  },
  {
    id: "BOX-26",
    rule: "box §11.3",
    says: "five cycles of rest, wake, append to a file / read / all five lines",
  },
  {
    id: "BOX-27",
    rule: "box §11.9",
    says: "the box is expired and its container removed / message / workspace files still there until retention; after that the model is told",
  },
  {
    id: "BOX-28",
    rule: "box §10.4",
    says: "a data directory under /root, and one with spaces / start / works, or a start-up error that names the setting",
  },
  {
    id: "BOX-29",
    rule: "box §18.3",
    says: "500 very short commands, 8 at once / exec / all return, none above 2 s",
  },
  {
    id: "BOX-30",
    rule: "box §18.3",
    says: "stdout and stderr interleaved, engine frames above 64 KB and split headers / exec / byte-exact separation",
  },
  {
    id: "ISO-01",
    rule: "box §12.3",
    says: "`sleep 600`: timeout 1 s; cancel; end of run / afterwards / no such process after 2 s; 50 repeats leave the pid count flat",
  },
  {
    id: "ISO-02",
    rule: "box §12.3",
    says: '`trap "" TERM; sleep 600 & sleep 600`, timeout 1 s, also with setsid / afterwards / the whole tree gone, no zombies',
  },
  {
    id: "ISO-03",
    rule: "box §12.1, 12.2",
    says: "`python3 -m http.server 8000 &`; `read x`; `cat` / exec / back within 1 s, with a note about the running process; stdin is empty",
  },
  { id: "ISO-04", rule: "box §12.2", says: "`true`, `false` / exec / exit 0 and 1 at once" },
  {
    id: "ISO-05",
    rule: "box §12.2",
    says: "`sleep 1000 & exit 3`, timeout 2 s / exec / exit 3 now, no waiting",
  },
  {
    id: "ISO-06",
    rule: "box §12.5",
    says: "`printf '\\xff\\xfeabc'`; 你 split over two frames / exec / replacement marks and the exit code; 你 intact",
  },
  {
    id: "ISO-07",
    rule: "box §12.5",
    says: "`seq 1 5000000; echo FAIL >&2; exit 2` / exec / head and tail with a count of what is missing; FAIL and exit 2 visible",
  },
  {
    id: "ISO-08",
    rule: "box §12.5",
    says: "300 MB on stdout through a pipe / exec / ends by itself, truncated flag",
  },
  {
    id: "ISO-09",
    rule: "box §6.6",
    says: "600 MB of output in one run, another run beside it / exec / service memory grows less than 50 MB; the other run is unaffected",
  },
  {
    id: "ISO-10",
    rule: "box §10.1",
    says: "`sh -c 'sleep 0.01 &'` 1000 times / afterwards / no zombies, pid limit not hit",
  },
  {
    id: "ISO-11",
    rule: "box §12.4",
    says: "a 10 GB allocation in a 256 MB box / exec / the result names the memory limit; the box is usable",
  },
  {
    id: "ISO-12",
    rule: "box §12.3",
    says: "a silent `sleep 90` with timeout 120 (scaled) / exec / completes",
  },
  {
    id: "ISO-13",
    rule: "box §10.6",
    says: "a server in box A; from box B connect to it, to the host, to the bridge address, to the service's port / exec / all refused",
  },
  {
    id: "ISO-14",
    rule: "box §10.6",
    says: "a host list is set; `getent hosts secret.attacker.test` / exec / no query leaves",
  },
  { id: "ISO-15", rule: "box §10.6", says: "169.254.169.254 in every network mode / exec / refused" },
  {
    id: "ISO-16",
    rule: "box §10.7",
    says: "`env; cat /proc/1/environ` / exec / none of the service's variables; secrets masked in results and logs",
  },
  {
    id: "ISO-17",
    rule: "box §10.8",
    says: "a fork bomb in one box, a run in another / exec / the other's latency stays below twice its usual; the box is killed or recovers",
  },
  {
    id: "ISO-18",
    rule: "box §10.5",
    says: "`fallocate -l 50G`, and a dd loop / exec / stopped near the quota; the host's free space is safe",
  },
  {
    id: "TOOL-01",
    rule: "box §13",
    says: "no engine; it comes back / tool list / native tools absent; present",
  },
  {
    id: "TOOL-02",
    rule: "box §13.1",
    says: "read of a missing file; of a directory / read / ok false; a listing",
  },
  {
    id: "TOOL-03",
    rule: "box §13",
    says: "a file with the lines one to five, offset 2, limit 2 / read / two and three, truncated_by lines, start 2, end 3, next_offset 4",
  },
  {
    id: "TOOL-04",
    rule: "box §13.1",
    says: "a binary file, base64 with byte_offset / read / a chunk, has_more, next_byte_offset",
  },
  {
    id: "TOOL-05",
    rule: "box §13",
    says: "a new nested path; append mode; bad base64 / write / parents created; appended; error and no file",
  },
  {
    id: "TOOL-06",
    rule: "box §6.3",
    says: 'a path out of the workspace; an ancestor swapped for a link / any tool / refused with "escapes"; nothing foreign leaks',
  },
  {
    id: "TOOL-07",
    rule: "box §13",
    says: "105 matches; a walk above the limit / glob / 100 returned, total 105, truncated_by matches; truncated_by scan; the service answers other requests meanwhile",
  },
  {
    id: "TOOL-08",
    rule: "box §13.4",
    says: "an invalid pattern; a very long matching line / grep / error; the line ends with the suffix, truncated_by line",
  },
  {
    id: "TOOL-09",
    rule: "box §12.5",
    says: "output above the limit; exactly at it; stderr / exec / head and tail with a notice, total within the limit; untouched; cut separately; 50 KiB caps on streams and preview",
  },
  {
    id: "TOOL-10",
    rule: "box §13",
    says: "the engine is lost between listing and call / called / refused at the call",
  },
  {
    id: "TOOL-11",
    rule: "box §13.1",
    says: "read of a 1.6 MB PDF in a text-only chat / read / refused with type, size and a hint; no bytes in the history",
  },
  {
    id: "JOB-01",
    rule: "box §14.1",
    says: "a job started, then queried; it ends by itself / info / running; exited with its code",
  },
  { id: "JOB-02", rule: "box §14.1", says: "an unknown job / stop / process not found" },
  {
    id: "SKILL-01",
    rule: "local-agent §20.1",
    says: "an unknown skill; a known one / activate / error; instructions returned and recorded",
  },
  {
    id: "SKILL-02",
    rule: "box §15.5",
    says: "no boxes to be had / tool list / `activate` and `register_skill` hidden",
  },
  {
    id: "SKILL-03",
    rule: "box §15.2",
    says: "an archive with a parent path, an absolute member, a link, a ratio above 100, too many entries, an oversize entry or total / preview and install / refused",
  },
  {
    id: "TEN-01",
    rule: "box §16.3",
    says: "no grant; expired; zero boxes / exec / admission error; a persistent box is closed on expiry, its workspace kept",
  },
  { id: "TEN-02", rule: "box §16.4", says: "two tenants, one key / acquire / two boxes, separate storage" },
  {
    id: "TEN-03",
    rule: "box §16.3",
    says: "the control plane is out for a moment / refresh / a valid grant stays valid",
  },
  {
    id: "TEN-04",
    rule: "box §16.3",
    says: "the answer names another grant than asked for / admitted / error, not admitted, nothing revoked",
  },
];
