/** What the host offers one run (runs §10.3, §10.4). Pure. */
import type { Resources } from "../domain/resources.js";
import type { AvailableApi } from "../domain/run-context.js";
import type { Permissions } from "../domain/runner-manifest.js";
import type { StateScope } from "../domain/state.js";

export interface ApiFacts {
  readonly permissions: Permissions;
  readonly resources: Resources;
  /** Enabled by the binding. */
  readonly scopes: readonly StateScope[];
  readonly hasConversation: boolean;
  readonly hasBox: boolean;
  /** The run's box can be written, so files can be exported (box §10.2). */
  readonly canExport: boolean;
}

export function availableApis(facts: ApiFacts): Record<AvailableApi, boolean> {
  const { permissions, resources, scopes, hasConversation, hasBox, canExport } = facts;
  return {
    prompt_get: false,
    history_page: hasConversation && permissions.history.includes("page"),
    history_search: false,
    event_get: false,
    event_page: false,
    state: scopes.length > 0,
    storage: resources.storage.plugin || resources.storage.workspace,
    steering_pull: false,
    run_get: false,
    run_list: false,
    run_events_page: false,
    run_cancel: false,
    ledger_write: false,
    box: hasBox,
    box_export_paths: hasBox && canExport,
  };
}
