import { describe, expect, it } from "vitest";
import { maskEvents } from "../../../src/box/mask-events.js";
import { SecretMask } from "../../../src/lib/secret-mask.js";
import type { ExecEvent } from "../../../src/ports/box-handle.js";
import { exited, printed } from "../../fakes/fake-box-commands.js";

async function* say(...events: readonly ExecEvent[]): AsyncGenerator<ExecEvent> {
  yield* events;
}

describe("maskEvents", () => {
  it("takes secrets out of each stream, also where a piece cuts one in two", async () => {
    const told = say(printed("a secr"), printed("secret", "stderr"), printed("et-word z"), exited(0));
    const texts = { stdout: "", stderr: "" };
    const types: string[] = [];
    for await (const event of maskEvents(told, new SecretMask(["secret-word"]))) {
      types.push(event.type);
      if (event.type === "output") texts[event.stream] += Buffer.from(event.bytes).toString();
    }
    expect(texts).toEqual({ stdout: "a [redacted] z", stderr: "secret" });
    expect(types.at(-1)).toBe("exit");
  });
});
