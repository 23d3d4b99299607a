/**
 * The host API by name (runs §15.5): every action of every table in actions/. A method of `RunHost` that runners of
 * packages may call has its action there; the wire keeps the spelling of the spec.
 */
import { ServiceError } from "../../domain/errors.js";
import type { HostActions } from "../../ports/host-actions.js";
import { BOX_ACTIONS } from "./actions/box-actions.js";
import { CONVERSATION_ACTIONS } from "./actions/conversation-actions.js";
import type { HostAction } from "./actions/define-action.js";
import { MODEL_ACTIONS } from "./actions/model-actions.js";
import { RESOURCE_ACTIONS } from "./actions/resource-actions.js";
import { RUN_ACTIONS } from "./actions/run-actions.js";
import { STATE_ACTIONS } from "./actions/state-actions.js";
import { TOOL_ACTIONS } from "./actions/tool-actions.js";

const ACTIONS: ReadonlyMap<string, HostAction> = new Map(
  Object.entries({
    ...MODEL_ACTIONS,
    ...TOOL_ACTIONS,
    ...CONVERSATION_ACTIONS,
    ...STATE_ACTIONS,
    ...RESOURCE_ACTIONS,
    ...RUN_ACTIONS,
    ...BOX_ACTIONS,
  }),
);

/** Names of all actions. */
export const HOST_ACTIONS: readonly string[] = [...ACTIONS.keys()];

export const hostActions: HostActions = {
  async perform(host, { action, payload }, options) {
    const perform = ACTIONS.get(action);
    if (perform !== undefined) return perform(host, payload, options);
    throw new ServiceError("host.not_found", `There is no host action "${action.slice(0, 100)}".`, {
      hint: `Use one of: ${HOST_ACTIONS.join(", ")}.`,
    });
  },
};
