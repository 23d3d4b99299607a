/** What clients do to a run on a real engine: leave, come back, cancel, ask again (runs §9, §19). */
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, inject, it } from "vitest";
import { runSchema } from "../../src/domain/run.js";
import { failure } from "../fakes/scripted-model.js";
import { runs, saysStdout } from "../support/agent-script.js";
import { proves } from "../support/proves.js";
import { readStream, streamEvents } from "../support/read-events.js";
import { attached, chatMessage, serviceForAll } from "../support/shared-service.js";

const hasEngine = inject("dockerAvailable");

describe.skipIf(!hasEngine)("a client", () => {
  const service = serviceForAll();

  /** Posts a message as a stream and reads until the first tool runs. @returns the run's id */
  async function untilToolRuns(chat: string, leaving: AbortController): Promise<string> {
    const body = JSON.stringify({ ...chatMessage(chat, "Work"), stream: true });
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${service().url}/v1/runs`, {
      method: "POST",
      headers,
      body,
      signal: leaving.signal,
    });
    for await (const event of streamEvents(response)) if (event.type === "tool.output") return event.run_id;
    throw new Error("The run ended before a tool ran.");
  }

  it("that drops its stream leaves the run going, and fetches the result later", async () => {
    proves("FLOW-18");
    using _model = service().script(
      runs("echo begun; sleep 1; echo finished > /workspace/done.txt"),
      runs("cat /workspace/done.txt"),
      saysStdout(),
      // The second half: an explicit cancel.
      runs("echo begun; sleep 611 & sleep 611"),
    );
    const leaving = new AbortController();
    const id = await untilToolRuns("leaves", leaving);
    leaving.abort();
    const events = await readStream(await service().fetch(`/v1/runs/${id}/events`));
    expect(events.at(-1)?.type).toBe("run.completed");
    const run = runSchema.parse(await (await service().fetch(`/v1/runs/${id}`)).json());
    expect(run).toMatchObject({ status: "completed", message: { content: "finished\n" } });

    const other = await untilToolRuns("cancels", new AbortController());
    expect(await service().countProcesses("sleep 611")).toBeGreaterThan(0);
    const asked = performance.now();
    const cancelled = service().fetch(`/v1/runs/${other}/cancel`, { method: "POST" });
    while ((await service().countProcesses("sleep 611")) > 0) await delay(20);
    expect(performance.now() - asked).toBeLessThan(1000);
    expect(await (await cancelled).json()).toMatchObject({ status: "cancelled" });
  });

  it("that asked for it cancels by leaving", async () => {
    using _model = service().script(runs("echo begun; sleep 611"));
    const leaving = new AbortController();
    const body = JSON.stringify({ ...chatMessage("quits", "Work"), stream: true, on_disconnect: "cancel" });
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body, signal: leaving.signal };
    let id = "";
    for await (const event of streamEvents(await fetch(`${service().url}/v1/runs`, init))) {
      id = event.run_id;
      if (event.type === "tool.output") break;
    }
    leaving.abort();
    const events = await readStream(await service().fetch(`/v1/runs/${id}/events`));
    expect(events.at(-1)?.type).toBe("run.cancelled");
    expect(await service().countProcesses("sleep 611")).toBe(0);
  });

  it("that repeats a failed message gets a new attempt on the same copy of its file, and then the same run", async () => {
    proves("FLOW-21");
    using model = service().script(
      failure("model.request_refused"),
      runs(
        'cat /workspace/inbox/*/0/table.csv; find /workspace -name "table*" | wc -l; ls -A "$BERTH_INBOX"',
      ),
      saysStdout(),
    );
    const body = chatMessage("repeats", "Read", [attached("table.csv", "1,2\n")]);
    const post = async () =>
      runSchema.parse(await (await service().post(body, { "idempotency-key": "key-21" })).json());
    const failed = await post();
    expect(failed).toMatchObject({ status: "failed", attachments: [{ state: "imported" }] });
    const good = await post();
    expect(good).toMatchObject({ status: "completed", message: { content: "1,2\n1\n" } });
    expect(good.id).not.toBe(failed.id);
    expect(good.attachments).toEqual(failed.attachments);
    const again = await post();
    expect([again.id, again.message]).toEqual([good.id, good.message]);
    expect(model.requests).toHaveLength(3);
  });
});
