import { describe, expect, it } from "vitest";
import { MemoryStateStore } from "../../../../src/adapters/memory/memory-state-store.js";
import { ServiceError } from "../../../../src/domain/errors.js";
import type { StateScope } from "../../../../src/domain/state.js";
import { RunGate } from "../../../../src/runs/host/run-gate.js";
import { RunState, type RunStateOf } from "../../../../src/runs/host/run-state.js";
import type { StateIdentity } from "../../../../src/runs/state-places.js";
import { FakeClock } from "../../../fakes/fake-clock.js";
import { KeptLogger } from "../../../fakes/kept-logger.js";
import { proves } from "../../../support/proves.js";

const ALL: readonly StateScope[] = ["conversation", "actor", "subject", "runner"];

const IDENTITY: StateIdentity = {
  tenant: "main",
  runner: "plugin:a/b/c",
  binding: "default",
  bot: null,
  conversation: { id: ["person", "42"], thread: null },
  actor: { type: "user", id: "42" },
  subject: { type: "message", id: "run_1" },
};

interface Given extends Partial<RunStateOf> {
  readonly store?: MemoryStateStore;
}

function aSetting({ store = new MemoryStateStore(), ...of }: Given = {}) {
  const run = new AbortController();
  const logger = new KeptLogger();
  const gate = new RunGate({ runId: "run_1", signal: run.signal, logger });
  const kept = new RunState(
    { gate, store, clock: new FakeClock() },
    {
      identity: IDENTITY,
      scopes: ALL,
      storage: { plugin: true, workspace: true },
      packageId: "a/b",
      ...of,
    },
  );
  return { run, logger, gate, store, kept, state: kept.state, storage: kept.storage };
}

const withIdentity = (fields: Partial<StateIdentity>) => ({ identity: { ...IDENTITY, ...fields } });

describe("RunState: values", () => {
  it.each([...ALL])("sets, gets, lists and deletes in the scope %s", async (scope) => {
    proves("STATE-05");
    const { state } = aSetting();
    const value = { list: [1, null, "é"], deep: { is: true } };
    expect(await state.get({ scope, key: "mood" })).toBeNull();
    await state.set({ scope, key: "mood", value });
    await state.set({ scope, key: "mode", value: 1 });
    expect(await state.get({ scope, key: "mood" })).toEqual(value);
    expect(await state.list({ scope })).toEqual({ keys: ["mode", "mood"], has_more: false });
    expect(await state.list({ scope, prefix: "moo" })).toEqual({ keys: ["mood"], has_more: false });
    expect(await state.delete({ scope, key: "mood" })).toBe(true);
    expect(await state.get({ scope, key: "mood" })).toBeNull();
    expect(await state.delete({ scope, key: "mood" })).toBe(false);
  });
});

describe("RunState: scopes", () => {
  it("has no conversation scope without a conversation, and no shared one in its place", async () => {
    proves("STATE-02");
    const { state, store } = aSetting(withIdentity({ conversation: null }));
    const ref = { scope: "conversation", key: "a" };
    const unavailable = {
      code: "host.not_found",
      message: 'The state scope "conversation" is unavailable: this run has no conversation.',
    };
    await expect(state.get(ref)).rejects.toMatchObject(unavailable);
    await expect(state.set({ ...ref, value: 1 })).rejects.toMatchObject(unavailable);
    await expect(state.list(ref)).rejects.toMatchObject(unavailable);
    await expect(state.delete(ref)).rejects.toMatchObject(unavailable);
    const other = aSetting({ store, ...withIdentity({ conversation: { id: "", thread: null } }) });
    expect((await other.state.list(ref)).keys).toEqual([]);
  });

  it("keeps the runner's own state without conversation, actor and subject", async () => {
    const { state } = aSetting(withIdentity({ conversation: null, actor: null, subject: null }));
    await state.set({ scope: "runner", key: "a", value: 1 });
    expect(await state.get({ scope: "runner", key: "a" })).toBe(1);
    await expect(state.get({ scope: "actor", key: "a" })).rejects.toMatchObject({ code: "host.not_found" });
  });

  it.each([...ALL])("keeps the values of two bindings of one runner apart in the scope %s", async (scope) => {
    proves("STATE-03");
    const store = new MemoryStateStore();
    const one = aSetting({ store });
    const other = aSetting({ store, ...withIdentity({ binding: "second" }) });
    await one.state.set({ scope, key: "a", value: "one" });
    await other.state.set({ scope, key: "a", value: "other" });
    expect(await one.state.get({ scope, key: "a" })).toBe("one");
    expect(await other.state.get({ scope, key: "a" })).toBe("other");
  });

  it("refuses a scope that is not enabled, and logs it", async () => {
    proves("STATE-04");
    const { state, logger, store } = aSetting({ scopes: ["actor"] });
    await expect(state.set({ scope: "conversation", key: "a", value: 1 })).rejects.toMatchObject({
      code: "host.unauthorized",
      message: 'This run is not authorized for the state scope "conversation".',
    });
    expect(logger.lines).toHaveLength(1);
    expect((await aSetting({ store }).state.list({ scope: "conversation" })).keys).toEqual([]);
    await expect(state.set({ scope: "actor", key: "a", value: 1 })).resolves.toBeUndefined();
  });

  it.each(["", "plugin", "Actor", "__proto__"])("does not know the scope %j", async (scope) => {
    await expect(aSetting().state.get({ scope, key: "a" })).rejects.toMatchObject({
      code: "host.invalid_argument",
      hint: "Use one of: conversation, actor, subject, runner.",
    });
  });

  it("answers nothing once the run was stopped or has ended", async () => {
    const stopped = aSetting();
    stopped.run.abort(new ServiceError("runner.timeout", "The run passed its deadline."));
    await expect(stopped.state.get({ scope: "actor", key: "a" })).rejects.toMatchObject({
      code: "host.deadline_exceeded",
    });
    const ended = aSetting();
    ended.gate.close();
    await expect(ended.storage.set({ scope: "plugin", key: "a", value: 1 })).rejects.toMatchObject({
      code: "host.not_found",
      message: "Run session not found: the run has ended.",
    });
  });
});

describe("RunState: storage", () => {
  it("keeps values of the package and of the tenant, apart from each other and from state", async () => {
    const { storage, state } = aSetting();
    await storage.set({ scope: "plugin", key: "a", value: 1 });
    await storage.set({ scope: "workspace", key: "a", value: 2 });
    expect(await storage.get({ scope: "plugin", key: "a" })).toBe(1);
    expect(await storage.get({ scope: "workspace", key: "a" })).toBe(2);
    expect((await storage.list({ scope: "plugin" })).keys).toEqual(["a"]);
    expect((await state.list({ scope: "runner" })).keys).toEqual([]);
    expect(await storage.delete({ scope: "plugin", key: "a" })).toBe(true);
    expect(await storage.get({ scope: "workspace", key: "a" })).toBe(2);
  });

  it("refuses an area that is not granted, and does not know others", async () => {
    const { storage, logger } = aSetting({ storage: { plugin: true, workspace: false } });
    await expect(storage.get({ scope: "workspace", key: "a" })).rejects.toMatchObject({
      code: "host.unauthorized",
      message: 'This run is not authorized for the storage "workspace".',
    });
    expect(logger.lines).toHaveLength(1);
    await expect(storage.get({ scope: "actor", key: "a" })).rejects.toMatchObject({
      code: "host.invalid_argument",
      hint: "Use one of: plugin, workspace.",
    });
  });
});

describe("RunState: snapshot", () => {
  it("shows the permitted scopes that the run has the identities for", async () => {
    const { kept, state } = aSetting({
      ...withIdentity({ subject: null }),
      scopes: ["conversation", "subject", "runner"],
    });
    await state.set({ scope: "conversation", key: "conversation_id", value: "c1" });
    expect(await kept.snapshot()).toEqual({
      state: { conversation: { "external.conversation_id": "c1" }, runner: {} },
      isCut: false,
    });
  });

  it("is empty where no scope is permitted", async () => {
    expect(await aSetting({ scopes: [] }).kept.snapshot()).toEqual({ state: {}, isCut: false });
  });
});
