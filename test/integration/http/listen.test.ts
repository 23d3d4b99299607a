import { describe, expect, it } from "vitest";
import { listen } from "../../../src/http/listen.js";
import { OpenStreams } from "../../../src/http/open-streams.js";
import { CleanupStack } from "../../../src/lib/cleanup-stack.js";
import { CountingIds } from "../../fakes/counting-ids.js";

describe("listen", () => {
  it("names an address that a client can reach when it listens on every one", async () => {
    await using life = new CleanupStack();
    const listener = await listen((_request, response) => void response.end("here"), {
      host: "0.0.0.0",
      port: 0,
      streams: new OpenStreams(1),
      ids: new CountingIds(),
    });
    life.defer(() => listener.close(0));
    expect(listener.url).toBe(`http://127.0.0.1:${listener.port}`);
    expect(await (await fetch(listener.url, { headers: { connection: "close" } })).text()).toBe("here");
  });
});
