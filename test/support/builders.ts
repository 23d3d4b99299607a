/** What goes into a run, with sensible defaults, for tests that care about one or two of the fields. */

import type { Binding, ResourcePolicy } from "../../src/domain/binding.js";
import type { Chat } from "../../src/domain/event.js";
import type { Resources } from "../../src/domain/resources.js";
import { describeRunner, type RunnerDescriptor } from "../../src/domain/runner-manifest.js";
import type { ToolResource } from "../../src/domain/tool.js";
import type { ModelFacts } from "../../src/runs/authorise-models.js";
import type { Offer } from "../../src/runs/authorise-resources.js";
import type { Pipeline, Pipelines } from "../../src/runs/resolve-binding.js";
import type { EventRequest, GivenEvent, MessageRequest } from "../../src/runs/run-request.js";

export const LOCAL_AGENT = "plugin:berth/local-agent/default";
export const CALLER = { tenant: "main", role: "client" } as const;

export function aChat(fields: Partial<Chat> = {}): Chat {
  return {
    launcher_type: "person",
    launcher_id: "42",
    sender_id: "42",
    sender_name: "Ann",
    bot_id: null,
    conversation_id: null,
    thread_id: null,
    ...fields,
  };
}

export function aRequest(fields: Partial<MessageRequest> = {}): MessageRequest {
  return {
    pipeline: null,
    chat: aChat(),
    text: "Hello",
    contents: [],
    variables: {},
    surface: "rest",
    onDisconnect: "continue",
    idempotency: null,
    ...fields,
  };
}

export function anEvent(fields: Partial<GivenEvent> = {}): GivenEvent {
  return {
    type: "group.member_joined",
    time: null,
    sourceType: null,
    actor: null,
    subject: null,
    data: {},
    ...fields,
  };
}

export function anEventRequest(fields: Partial<EventRequest> = {}): EventRequest {
  return { ...aRequest(), text: null, messageChain: [], event: anEvent(), ...fields };
}

export function aPolicy(fields: Partial<ResourcePolicy> = {}): ResourcePolicy {
  return {
    allowed_model_uuids: [],
    allowed_tool_names: null,
    allowed_tool_sources: null,
    allow_all_tools: true,
    allowed_kb_uuids: [],
    allowed_skill_names: null,
    allow_plugin_storage: true,
    allow_workspace_storage: false,
    administrator: false,
    ...fields,
  };
}

export function aPipeline(fields: Partial<Pipeline> = {}): Pipeline {
  return {
    id: "default",
    runnerId: LOCAL_AGENT,
    config: {},
    configSource: "id",
    expireSec: 0,
    warnings: [],
    policy: aPolicy(),
    state: { enable_state: true, scopes: null },
    deadlineSec: null,
    exceptionHandling: "show-hint",
    events: ["message.received"],
    ...fields,
  };
}

/** The first one is the default. */
export function pipelinesOf(...pipelines: readonly Pipeline[]): Pipelines {
  return {
    defaultId: pipelines[0]?.id ?? "default",
    byId: new Map(pipelines.map((pipeline) => [pipeline.id, pipeline])),
  };
}

export function aBinding(fields: Partial<Binding> = {}): Binding {
  return {
    pipeline: "default",
    runnerId: LOCAL_AGENT,
    config: {},
    configSource: "id",
    expireSec: 0,
    warnings: [],
    policy: aPolicy(),
    state: { enable_state: true, scopes: null },
    deadlineSec: null,
    ...fields,
  };
}

export interface ManifestParts {
  readonly name?: string;
  readonly config?: readonly unknown[];
  readonly capabilities?: Readonly<Record<string, boolean>>;
  readonly permissions?: Readonly<Record<string, readonly string[]>>;
}

/** A runner that may do what the local agent may do, unless said otherwise. */
export function aDescriptor(parts: ManifestParts = {}): RunnerDescriptor {
  const manifest = {
    kind: "AgentRunner",
    metadata: {
      author: "berth",
      plugin: parts.name ?? "local-agent",
      name: "default",
      version: "1.0.0",
      label: { en: "Test" },
    },
    spec: {
      config: parts.config ?? [],
      capabilities: parts.capabilities ?? { streaming: true, tool_calling: true },
      permissions: parts.permissions ?? {
        models: ["count_tokens", "invoke", "stream", "rerank"],
        tools: ["detail", "call"],
        history: ["page"],
      },
    },
  };
  return describeRunner(manifest, "builtin");
}

export function aModel(fields: Partial<ModelFacts> = {}): ModelFacts {
  return {
    id: "main",
    type: "llm",
    provider: "models.example",
    abilities: ["func_call"],
    contextWindow: 32_000,
    maxOutputTokens: 4096,
    ...fields,
  };
}

export function modelsOf(...models: readonly ModelFacts[]): ReadonlyMap<string, ModelFacts> {
  return new Map(models.map((model) => [model.id, model]));
}

export function aTool(fields: Partial<ToolResource> = {}): ToolResource {
  return {
    source: "native",
    source_id: "berth",
    tool_name: "exec",
    description: "Runs a command.",
    parameters: { type: "object", properties: {} },
    effect: { kind: "box.exec" },
    ...fields,
  };
}

export function someResources(fields: Partial<Resources> = {}): Resources {
  return {
    models: [],
    tools: [],
    knowledge_bases: [],
    skills: [],
    storage: { plugin: false, workspace: false },
    platform_capabilities: [],
    ...fields,
  };
}

/** What a service without models, tools, knowledge bases and skills could grant. */
export function anOffer(fields: Partial<Offer> = {}): Offer {
  return {
    models: new Map(),
    tools: [],
    hostNames: new Set(),
    knowledgeBases: new Map(),
    skills: [],
    ...fields,
  };
}
