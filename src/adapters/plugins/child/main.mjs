/** The process of one package: loads its entry, runs what the service asks for, and speaks JSON lines on descriptor 3. */
import { register } from "node:module";
import { Worker } from "node:worker_threads";
import { Asks } from "./asks.mjs";
import { Channel } from "./channel.mjs";
import { loadPlugin } from "./load-plugin.mjs";
import { Runs } from "./runs.mjs";

const [entryUrl = "", heartbeatMs = ""] = process.argv.slice(2);

/** Ends this process and all it started when the service is gone, even while the main thread loops. */
function holdLifeLine() {
  const program = new URL("./life-line.mjs", import.meta.url);
  const limits = { maxOldGenerationSizeMb: 16 };
  new Worker(program, { execArgv: [], env: {}, resourceLimits: limits }).unref();
}

holdLifeLine();
register(new URL("./resolve-sdk.mjs", import.meta.url));
const channel = new Channel(3);
const plugin = await loadPlugin(entryUrl);
const runs = new Runs(channel, plugin);
const asks = new Asks(channel, plugin);

// From the main loop: whoever blocks it is found out.
setInterval(() => void channel.send({ type: "alive" }), Number(heartbeatMs));
await channel.send({ type: "ready" });
for await (const frame of channel.frames()) {
  if (!runs.take(frame)) asks.take(frame);
}
// The service has closed the channel.
process.exit(0);
