import { describe, expect, it } from "vitest";
import { FakeRunHost } from "../../../../fakes/fake-run-host.js";
import { performAction } from "../../../../support/perform-action.js";

describe.each(["state", "storage"])("the actions about %s", (kind) => {
  it("set, get, list and delete", async () => {
    const host = new FakeRunHost();
    const entry = { scope: "conversation", key: "count" };
    expect(await performAction(host, `${kind}_set`, { ...entry, value: { n: 1 } })).toBeNull();
    expect(await performAction(host, `${kind}_get`, entry)).toEqual({ n: 1 });
    expect(await performAction(host, `${kind}_list`, { scope: "conversation" })).toMatchObject({
      keys: ["count"],
    });
    expect(await performAction(host, `${kind}_delete`, entry)).toEqual({ deleted: true });
    expect(await performAction(host, `${kind}_get`, entry)).toBeNull();
  });

  it("refuse an entry without a value", async () => {
    const refused = performAction(new FakeRunHost(), `${kind}_set`, { scope: "conversation", key: "none" });
    await expect(refused).rejects.toMatchObject({ code: "host.invalid_argument" });
  });
});
