/** The smallest runner that shows everything: streaming, state, a tool call, a cancel, a tool and an event of its own. */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { completed, definePlugin, delta, reply, toolCompleted, toolStarted } from "berth/plugin-sdk";

export default definePlugin({
  runners: {
    default: async function* (context, host, { signal }) {
      const text = context.input.text ?? "";
      const count = await countMessage(host);
      if (text.startsWith("!")) yield* runInBox(text.slice(1), host);
      else yield* echo(`${count}: ${text}`, context.config, signal);
      yield completed();
    },
  },
  tools: {
    reverse_text: ({ text }) => [...String(text)].toReversed().join(""),
  },
  onEvent: ({ text }) => (text === "/ping" ? { prevent_default: true, reply: "pong" } : undefined),
});

/** State lasts from run to run; a runner keeps nothing in its own variables. */
async function countMessage(host) {
  const entry = { scope: "conversation", key: "messages" };
  const count = Number(await host.getState(entry)) + 1;
  await host.setState({ ...entry, value: count });
  return count;
}

/** A cancel aborts the signal; a runner that declares `interrupt` then has 5 s to end by itself. */
async function* echo(answer, { pause_ms: pauseMs = 50 }, signal) {
  let said = "";
  for (const word of answer.split(/(?<= )/)) {
    if (signal.aborted) break;
    said += word;
    yield delta(said);
    await pause(Number(pauseMs), undefined, { signal }).catch(() => undefined);
  }
  yield reply(said);
}

/** Calls are shown as they begin and end; the tools are those that the pipeline grants. */
async function* runInBox(command, host) {
  await host.bindBox();
  const call = { tool_call_id: `call_${randomUUID()}`, tool_name: "exec", parameters: { command } };
  yield toolStarted(call);
  const outcome = await host.callTool(call);
  yield toolCompleted(call, outcome);
  yield reply(outcome.ok ? String(outcome.result.stdout) : `It failed: ${outcome.error}`);
}
