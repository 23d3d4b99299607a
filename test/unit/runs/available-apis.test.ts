import { describe, expect, it } from "vitest";
import { type ApiFacts, availableApis } from "../../../src/runs/available-apis.js";
import { permittedScopes } from "../../../src/runs/state-places.js";
import { aDescriptor, someResources } from "../../support/builders.js";
import { proves } from "../../support/proves.js";

function facts(fields: Partial<ApiFacts> = {}): ApiFacts {
  return {
    permissions: aDescriptor({ permissions: {} }).permissions,
    canSteer: false,
    resources: someResources(),
    scopes: [],
    hasPrompt: false,
    hasConversation: true,
    isAdministrator: false,
    hasBox: false,
    canExport: true,
    ...fields,
  };
}

function offered(fields: Partial<ApiFacts>): string[] {
  return Object.entries(availableApis(facts(fields))).flatMap(([name, isOffered]) =>
    isOffered && !OF_RUNS.includes(name) ? [name] : [],
  );
}

/** Offered to every run. */
const OF_RUNS: readonly string[] = ["run_get", "run_list", "run_events_page", "run_cancel"];

describe("availableApis", () => {
  it("offers nothing where nothing is permitted", () => {
    expect(offered({})).toEqual([]);
  });

  it("offers the prompt where there is one besides the config", () => {
    expect(offered({ hasPrompt: true })).toEqual(["prompt_get"]);
  });

  it("offers state where at least one scope is enabled", () => {
    proves("CTX-10");
    const none = permittedScopes({ enable_state: true, scopes: [] }, "message.received");
    expect(availableApis(facts({ scopes: none })).state).toBe(false);
    expect(offered({ scopes: ["runner"] })).toEqual(["state"]);
  });

  it("offers the state of the runner without a conversation, and no history of one", () => {
    const { permissions } = aDescriptor({ permissions: { history: ["page"] } });
    expect(offered({ permissions, scopes: ["runner"] })).toEqual(["history_page", "state"]);
    expect(offered({ permissions, scopes: ["runner"], hasConversation: false })).toEqual(["state"]);
  });

  it.each([
    { plugin: true, workspace: false },
    { plugin: false, workspace: true },
  ])("offers storage for %j", (storage) => {
    expect(offered({ resources: someResources({ storage }) })).toEqual(["storage"]);
  });

  it("offers history and events as the runner may ask for them, those of a conversation only with one", () => {
    const { permissions } = aDescriptor({
      permissions: { history: ["page", "search"], events: ["get", "page"] },
    });
    expect(offered({ permissions })).toEqual(["history_page", "history_search", "event_get", "event_page"]);
    expect(offered({ permissions, hasConversation: false })).toEqual(["event_get"]);
  });

  it("offers the runs of the own conversation to all, and their ledger to administrators", () => {
    expect(availableApis(facts())).toMatchObject(Object.fromEntries(OF_RUNS.map((name) => [name, true])));
    expect(availableApis(facts({ hasConversation: false })).run_list).toBe(true);
    expect(offered({ isAdministrator: true })).toEqual(["ledger_write"]);
  });

  it("offers the box, and exports from one that can be written", () => {
    expect(offered({ hasBox: true })).toEqual(["box", "box_export_paths"]);
    expect(offered({ hasBox: true, canExport: false })).toEqual(["box"]);
  });
});
