import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { STATE_SCOPES, type StateScope } from "../../../src/domain/state.js";
import {
  permittedScopes,
  type StateIdentity,
  statePlace,
  storagePlace,
} from "../../../src/runs/state-places.js";

function anIdentity(fields: Partial<StateIdentity> = {}): StateIdentity {
  return {
    tenant: "main",
    runner: "plugin:a/b/c",
    binding: "default",
    bot: null,
    conversation: { id: ["person", "42"], thread: null },
    actor: { type: "user", id: "42" },
    subject: { type: "message", id: "run_1" },
    ...fields,
  };
}

const keyOf = (scope: StateScope, fields: Partial<StateIdentity> = {}): string | undefined =>
  statePlace(anIdentity(fields), scope)?.scopeKey;

describe("permittedScopes", () => {
  it("enables all scopes for messages, and two for other events, where the binding says nothing", () => {
    const settings = { enable_state: true, scopes: null };
    expect(permittedScopes(settings, "message.received")).toEqual([
      "conversation",
      "actor",
      "subject",
      "runner",
    ]);
    expect(permittedScopes(settings, "group.member_joined")).toEqual(["conversation", "actor"]);
  });

  it("goes by the binding where it names scopes, each once", () => {
    const settings = { enable_state: true, scopes: ["runner" as const, "actor" as const, "runner" as const] };
    expect(permittedScopes(settings, "message.received")).toEqual(["actor", "runner"]);
    expect(permittedScopes({ enable_state: true, scopes: [] }, "message.received")).toEqual([]);
  });

  it("enables none where state is switched off", () => {
    expect(permittedScopes({ enable_state: false, scopes: ["actor"] }, "message.received")).toEqual([]);
  });
});

describe("statePlace", () => {
  it.each(STATE_SCOPES)("gives the scope %s one key, which begins with its name", (scope) => {
    const place = statePlace(anIdentity(), scope);
    expect(place).toEqual(statePlace(anIdentity(), scope));
    expect(place?.tenant).toBe("main");
    expect(place?.scopeKey).toMatch(new RegExp(`^${scope}:[0-9a-f]{64}$`));
  });

  it.each(STATE_SCOPES)(
    "gives the scope %s another key for another runner, binding, bot and tenant",
    (scope) => {
      const others = [{ runner: "plugin:a/b/d" }, { binding: "second" }, { bot: "web" }, { tenant: "other" }];
      const keys = [{}, ...others].map((fields) => keyOf(scope, fields));
      expect(new Set(keys).size).toBe(5);
    },
  );

  it("tells conversations apart by id and thread; no thread is no thread named null", () => {
    const conversations = [
      { id: "a", thread: null },
      { id: "b", thread: null },
      { id: "a", thread: "t" },
      { id: "a", thread: "null" },
      { id: ["a"], thread: null },
    ];
    expect(new Set(conversations.map((conversation) => keyOf("conversation", { conversation }))).size).toBe(
      5,
    );
  });

  it("tells actors and subjects apart by type and id", () => {
    const things = [
      { type: "user", id: "1" },
      { type: "user", id: "2" },
      { type: "bot", id: "1" },
    ];
    expect(new Set(things.map((actor) => keyOf("actor", { actor }))).size).toBe(3);
    expect(new Set(things.map((subject) => keyOf("subject", { subject }))).size).toBe(3);
  });

  it("shares an actor's state between the conversations of one binding, and the runner's between all actors", () => {
    expect(keyOf("actor", { conversation: { id: "b", thread: "t" } })).toBe(keyOf("actor"));
    expect(keyOf("runner", { conversation: null, actor: null, subject: null })).toBe(keyOf("runner"));
  });

  it("has no place, and no shared one either, where the identity is missing", () => {
    expect(statePlace(anIdentity({ conversation: null }), "conversation")).toBeNull();
    expect(statePlace(anIdentity({ actor: null }), "actor")).toBeNull();
    expect(statePlace(anIdentity({ subject: null }), "subject")).toBeNull();
  });

  it("never gives two identities one key, whatever their parts are", () => {
    const identities = fc.record({
      runner: fc.string(),
      binding: fc.string(),
      bot: fc.option(fc.string()),
      tenant: fc.string(),
      actor: fc.record({ type: fc.string(), id: fc.string() }),
    });
    fc.assert(
      fc.property(identities, identities, (one, other) => {
        const isSame = keyOf("actor", one) === keyOf("actor", other);
        expect(isSame).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
    );
  });
});

describe("storagePlace", () => {
  it("keeps the values of packages apart, and those of tenants", () => {
    const places = [
      storagePlace("main", "plugin", "a/b"),
      storagePlace("main", "plugin", "a/c"),
      storagePlace("other", "plugin", "a/b"),
      storagePlace("main", "workspace", "a/b"),
      storagePlace("other", "workspace", "a/b"),
    ];
    expect(new Set(places.map(({ scopeKey }) => scopeKey)).size).toBe(5);
  });

  it("shares the values of the tenant between its packages", () => {
    expect(storagePlace("main", "workspace", "a/b")).toEqual(storagePlace("main", "workspace", "c/d"));
  });
});
