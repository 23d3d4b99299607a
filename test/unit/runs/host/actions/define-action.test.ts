import { describe, expect, it } from "vitest";
import { z } from "zod";
import { many, nothing, one } from "../../../../../src/runs/host/actions/define-action.js";
import { FakeRunHost } from "../../../../fakes/fake-run-host.js";
import { NEVER } from "../../../../support/run-world.js";

const CALL = { signal: NEVER };

describe("one", () => {
  it("gives what the host gives, for a payload that fits", async () => {
    const double = one(z.strictObject({ of: z.number() }), async (_host, { of }) => 2 * of);
    expect(await double(new FakeRunHost(), { of: 4 }, CALL)).toEqual({ kind: "value", value: 8 });
  });

  it("asks the host nothing for a payload that does not fit, and says what is wrong in bounded words", async () => {
    const action = one(nothing, (host, _payload, options) => host.getPrompt(options));
    const host = new FakeRunHost();
    const refused = action(host, { ["x".repeat(5000)]: 1 }, CALL);
    await expect(refused).rejects.toMatchObject({ code: "host.invalid_argument" });
    await expect(action(host, null, CALL)).rejects.toThrow(/does not fit.{1,600}$/s);
    expect(host.actions).toEqual([]);
  });
});

describe("many", () => {
  it("gives values as they come", async () => {
    const count = many(nothing, async function* () {
      yield 1;
      yield 2;
    });
    const answer = await count(new FakeRunHost(), {}, CALL);
    const values: unknown[] = [];
    if (answer.kind === "stream") for await (const value of answer.values) values.push(value);
    expect(values).toEqual([1, 2]);
  });
});
