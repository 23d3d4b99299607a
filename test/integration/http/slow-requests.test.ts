import { connect } from "node:net";
import { expect, it } from "vitest";
import { listen } from "../../../src/http/listen.js";
import { OpenStreams } from "../../../src/http/open-streams.js";
import { CountingIds } from "../../fakes/counting-ids.js";

it("ends a connection whose headers do not come to an end soon after their time, with the envelope", async () => {
  const listener = await listen((_request, response) => response.end(), {
    host: "127.0.0.1",
    port: 0,
    streams: new OpenStreams(1),
    ids: new CountingIds(),
    headersTimeMs: 200,
  });
  const socket = connect(listener.port, "127.0.0.1");
  const answer = await new Promise<string>((resolve, reject) => {
    let text = "";
    socket.setEncoding("utf8").on("data", (part: string) => (text += part));
    socket.once("error", reject).once("close", () => resolve(text));
    socket.setTimeout(10_000, () => socket.destroy(new Error("The connection stayed open.")));
    socket.write("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n");
  });
  await listener.close(0);
  expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  expect(answer).toContain("The request did not arrive in time.");
});
