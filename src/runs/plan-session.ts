/** Which session a run belongs to: rendered when the message is admitted, so that a bad template costs nothing (box §2.3, §4.5). */
import { plainReuseKey, type ReuseKey, renderReuseKey } from "../box/reuse-key.js";
import { buildTemplateVariables } from "../box/template-variables.js";
import type { Chat, EventType } from "../domain/event.js";
import type { RunId } from "../domain/ids.js";
import type { Resources } from "../domain/resources.js";
import type { ToolResource } from "../domain/tool.js";

/** Tools that make a box worth having (box §4.5). */
const BOX_TOOLS: ReadonlySet<string> = new Set(["exec", "read", "write", "edit", "glob", "grep"]);

/** A template that names a part of it is refused: nothing is put in its place (box §2.3). */
const NO_CHAT = {
  launcher_type: null,
  launcher_id: null,
  sender_id: null,
  conversation_id: null,
  thread_id: null,
  bot_id: null,
} as const;

/** By source as well: a stranger's tool of such a name needs no box. */
function isBoxTool({ source, tool_name: name }: ToolResource): boolean {
  return source === "native" && BOX_TOOLS.has(name);
}

export interface SessionFacts {
  readonly tenant: string;
  readonly runId: RunId;
  readonly chat: Chat | null;
  readonly actorId: string | null;
  readonly eventId: string;
  readonly eventType: EventType;
  readonly params: Readonly<Record<string, unknown>>;
  /** The one key that the operator allows; null = any. */
  readonly requiredKey: string | null;
}

/**
 * @param plan what the runner's config says of the box; null = it would not use one
 * @returns null when the run gets no box
 * @throws ServiceError `session.template_invalid`, `session.variable_missing`, `box.validation`
 */
export function planSession(
  plan: { readonly template: string } | null,
  resources: Resources,
  facts: SessionFacts,
): ReuseKey | null {
  if (plan === null || !resources.tools.some(isBoxTool)) return null;
  // The template is not looked at then, whatever is wrong with it (box §2.7).
  if (facts.requiredKey !== null) return plainReuseKey(facts.requiredKey, facts.tenant);
  const variables = buildTemplateVariables({
    chat: facts.chat ?? NO_CHAT,
    actorId: facts.actorId,
    runId: facts.runId,
    queryId: null,
    eventId: facts.eventId,
    eventType: facts.eventType,
    params: facts.params,
  });
  return renderReuseKey(plan.template, variables, facts.tenant);
}
