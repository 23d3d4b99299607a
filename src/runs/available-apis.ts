/** What the host offers one run (runs §10.3, §10.4). Pure. */
import type { Resources } from "../domain/resources.js";
import type { AvailableApi } from "../domain/run-context.js";
import type { Permissions } from "../domain/runner-manifest.js";
import type { StateScope } from "../domain/state.js";

export interface ApiFacts {
  readonly permissions: Permissions;
  /** The runner declares the capability `steering`. */
  readonly canSteer: boolean;
  readonly resources: Resources;
  /** Enabled by the binding. */
  readonly scopes: readonly StateScope[];
  /** A package made a prompt of its own for this run; else the runner goes by its config. */
  readonly hasPrompt: boolean;
  readonly hasConversation: boolean;
  /** The pipeline's policy says so (runs §15.5). */
  readonly isAdministrator: boolean;
  readonly hasBox: boolean;
  /** The run's box can be written, so files can be exported (box §10.2). */
  readonly canExport: boolean;
}

export function availableApis(facts: ApiFacts): Record<AvailableApi, boolean> {
  const { permissions, resources, scopes, hasConversation, hasBox, canExport } = facts;
  return {
    prompt_get: facts.hasPrompt,
    history_page: hasConversation && permissions.history.includes("page"),
    history_search: hasConversation && permissions.history.includes("search"),
    event_get: permissions.events.includes("get"),
    event_page: hasConversation && permissions.events.includes("page"),
    state: scopes.length > 0,
    storage: resources.storage.plugin || resources.storage.workspace,
    steering_pull: facts.canSteer,
    run_get: true,
    run_list: true,
    run_events_page: true,
    run_cancel: true,
    ledger_write: facts.isAdministrator,
    box: hasBox,
    box_export_paths: hasBox && canExport,
  };
}
