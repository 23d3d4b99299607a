/** The main job, end to end: a message with a file, work in the chat's box, exactly the exported files delivered. */
import { createHash } from "node:crypto";
import Docker from "dockerode";
import { afterEach, describe, expect, inject, it } from "vitest";
import type { Run } from "../../src/domain/run.js";
import { calls, ScriptedModel, type Step, text } from "../fakes/scripted-model.js";
import {
  exports,
  inboxOf,
  lastExec,
  lastToolResults,
  late,
  runs,
  saysStdout,
} from "../support/agent-script.js";
import {
  type ComposedService,
  errorCode,
  onePipeline,
  standIn,
  startService,
} from "../support/composed-service.js";
import { proves } from "../support/proves.js";
import { streamEvents } from "../support/read-events.js";
import { ownedContainers, removeOwned, serviceIdOf } from "../support/service-boxes.js";
import { textLike } from "../support/text-like.js";

const ENGINE = new Docker();
const CSV = Buffer.from("month,sales\nJan,3\nFeb,5\nMar,4\n");
const PLOT = `
import csv, os
import matplotlib.pyplot as plt
inbox, outbox = os.environ["BERTH_INBOX"], os.environ["BERTH_OUTBOX"]
rows = list(csv.DictReader(open(inbox + "/0/销量.csv")))
plt.bar([row["month"] for row in rows], [int(row["sales"]) for row in rows])
plt.title("月度销量")
plt.savefig(outbox + "/图表.png")
open(outbox + "/draft.txt", "w").write("not sent")
`;

let service: ComposedService;

afterEach(async () => {
  const id = await serviceIdOf(service.directory);
  await service[Symbol.asyncDispose]();
  await removeOwned(ENGINE, id);
});

async function begin(
  steps: readonly Step[],
  more: {
    readonly image?: string;
    readonly config?: Record<string, unknown>;
    readonly settings?: Record<string, unknown>;
  } = {},
): Promise<ScriptedModel> {
  const model = new ScriptedModel(steps);
  service = await startService({
    models: new Map([["m1", model]]),
    settings: {
      models: [standIn("m1")],
      pipelines: [onePipeline("m1", more.config)],
      boxes: { image: more.image ?? "berth-box:slim" },
      ...more.settings,
    },
  });
  return model;
}

function message(chat: string, words: string, contents: readonly unknown[] = []): Record<string, unknown> {
  return { chat: { launcher_type: "person", launcher_id: chat }, input: { text: words, contents } };
}

const table = { type: "file_base64", name: "销量.csv", mime_type: "text/csv", data: CSV.toString("base64") };

async function download(run: Run, index = 0): Promise<Buffer> {
  const response = await service.fetch(run.deliveries[index]?.url ?? "");
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

async function ownContainers(): Promise<number> {
  return (await ownedContainers(ENGINE, await serviceIdOf(service.directory))).length;
}

describe.skipIf(!inject("dockerAvailable"))("the main job", () => {
  it("plots an attached table and delivers exactly the exported chart", async () => {
    proves("OUT-01", "OUT-02", "OUT-03", "IN-10");
    using model = await begin(
      [
        runs(`python3 -c '${PLOT}'; sha256sum "$BERTH_OUTBOX/图表.png"`),
        exports("图表.png"),
        runs('ls "$BERTH_OUTBOX"'),
        late((request) => text(`Left: ${lastExec(request).stdout}`)),
      ],
      { image: "berth-box:full" },
    );
    const run = await service.send(message("42", "Plot the attached table", [table]));
    expect(run).toMatchObject({
      status: "completed",
      error: null,
      message: { content: "Left: draft.txt\n" },
    });
    expect(run.attachments).toMatchObject([{ name: "销量.csv", state: "imported", bytes: CSV.byteLength }]);
    expect(run.deliveries).toMatchObject([{ name: "图表.png", kind: "image", mime_type: "image/png" }]);
    const bytes = await download(run);
    expect(bytes.subarray(1, 4).toString()).toBe("PNG");
    expect(sha256(bytes)).toBe(run.deliveries[0]?.sha256);
    expect(lastExec(model.request(1)).stdout).toContain(sha256(bytes));
    expect(run.outbox_left.map(({ path, bytes: size }) => [path.split("/").at(-1), size])).toEqual([
      ["draft.txt", 8],
    ]);
    const response = await service.fetch(run.deliveries[0]?.url ?? "", { method: "HEAD" });
    expect(response.headers.get("content-disposition")).toContain("filename*=UTF-8''%E5%9B%BE%E8%A1%A8.png");
  });

  it("keeps the box of a chat for its next message and shows nothing of it to another chat", async () => {
    proves("BOX-02", "KEY-01", "OUT-01");
    using _model = await begin([
      runs('echo secret > /workspace/kept.txt; echo draft > "$BERTH_OUTBOX/draft.txt"'),
      text("one"),
      runs("cat /workspace/kept.txt /workspace/outbox/*/draft.txt"),
      late((request) => text(lastExec(request).stdout)),
      runs("cat /workspace/kept.txt"),
      late((request) => text(String(lastExec(request).exit_code))),
    ]);
    const first = await service.send(message("ann", "Keep this"));
    const second = await service.send(message("ann", "What did you keep?"));
    const other = await service.send(message("bob", "What did Ann keep?"));
    expect(first).toMatchObject({ deliveries: [], outbox_left: [{ bytes: 6 }] });
    expect(second.message?.content).toBe("secret\ndraft\n");
    expect(second.session).toEqual(first.session);
    expect(first.session?.key).toBe("person_ann");
    expect(other.message?.content).toBe("1");
    expect(other.session?.id).not.toBe(first.session?.id);
    expect(await ownContainers()).toBe(2);
  });

  it("refuses a template with a missing variable before any container exists", async () => {
    proves("KEY-03");
    using _model = await begin([], { config: { "box-session-id-template": "{nope}" } });
    const response = await service.fetch("/v1/runs", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(message("42", "Hello")),
    });
    expect(response.status).toBe(400);
    expect(await errorCode(response)).toBe("session.variable_missing");
    expect(await ownContainers()).toBe(0);
  });

  it("makes one container for twenty first messages of one chat at once, the first with eight calls", async () => {
    proves("KEY-13", "KEY-20");
    const eight = Array.from({ length: 8 }, (_none, i) => ({
      name: "exec",
      arguments: { command: `echo ${i}; touch /workspace/${i}` },
    }));
    const each = [runs("ls /workspace | grep -c '^[0-7]$'"), saysStdout()];
    using model = await begin([calls(eight), text("done"), ...Array.from({ length: 19 }, () => each).flat()]);
    const waiting = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const response = await service.fetch("/v1/runs", {
          method: "POST",
          headers: { "content-type": "application/json" },
          // A file lets each be a run of its own; words alone would be taken in by the first (runs §14).
          body: JSON.stringify({ ...message("42", "Hi", [table]), stream: true }),
        });
        return response.text();
      }),
    );
    expect(waiting.filter((stream) => stream.includes("event: run.completed"))).toHaveLength(20);
    expect(waiting.filter((stream) => stream.includes('"content":"8\\n"'))).toHaveLength(19);
    expect(lastToolResults(model.request(1)).map((result) => /"stdout":"(\d)/.exec(result)?.[1])).toEqual([
      "0",
      "1",
      "2",
      "3",
      "4",
      "5",
      "6",
      "7",
    ]);
    expect(await ownContainers()).toBe(1);
  });

  it("registers and removes nothing when one of three paths is bad, and takes the corrected call", async () => {
    proves("OUT-04");
    // Exactly the bytes and the rounds that the good call needs beside the bad one.
    using model = await begin(
      [
        runs('cd "$BERTH_OUTBOX"; echo a > a.txt; echo b > b.txt; mkdir d'),
        exports("a.txt", "d", "missing.txt"),
        exports("a.txt", "b.txt"),
        text("sent"),
      ],
      {
        config: { "max-tool-iterations": 3 },
        settings: { export: { max_file_bytes: 2, max_files: 3, max_total_bytes: 4 } },
      },
    );
    const run = await service.send(message("42", "Send them"));
    const refusal = lastToolResults(model.request(2))[0] ?? "";
    expect(refusal).toContain("/d");
    expect(refusal).toContain("/missing.txt");
    expect(refusal).not.toContain("registered for delivery");
    expect(run).toMatchObject({ status: "completed", finish_reason: "max_iterations" });
    expect(run.deliveries.map(({ name }) => name)).toEqual(["a.txt", "b.txt"]);
    expect((await download(run, 1)).toString()).toBe("b\n");
    expect(run.outbox_left).toEqual([]);
  });

  it("registers nothing above the total of a run, and delivers what was exported when the rounds are used up", async () => {
    proves("OUT-06", "LOOP-09");
    using model = await begin(
      [
        runs('cd "$BERTH_OUTBOX"; for f in a b c; do head -c 4000 /dev/zero > $f; done'),
        exports("a"),
        exports("b", "c"),
        text("All I could send."),
      ],
      {
        config: { "max-tool-iterations": 3 },
        settings: { export: { max_file_bytes: 5000, max_total_bytes: 9000 } },
      },
    );
    const run = await service.send(message("42", "Send them"));
    expect(lastToolResults(model.request(3))[0]).toMatch(
      /^Error: .*8000 bytes, with 4000 bytes exported earlier/s,
    );
    expect(model.request(2).tools.length).toBeGreaterThan(0);
    expect(model.request(3).tools).toEqual([]);
    expect(run).toMatchObject({
      status: "completed",
      finish_reason: "max_iterations",
      message: { content: "All I could send." },
      deliveries: [{ name: "a", bytes: 4000 }],
    });
    expect(run.outbox_left.map(({ bytes }) => bytes)).toEqual([4000, 4000]);
    expect((await download(run)).equals(Buffer.alloc(4000))).toBe(true);
  });

  it("tells model and caller of an attachment that is too large, and goes on with the others", async () => {
    proves("IN-05");
    const big = { type: "file_base64", name: "big.bin", data: Buffer.alloc(2000).toString("base64") };
    using model = await begin([text("ok")], {
      settings: { inbound: { max_file_bytes: 1000, max_total_bytes: 5000 } },
    });
    const run = await service.send(message("42", "Look", [big, table]));
    expect(run.attachments).toMatchObject([
      { name: "big.bin", state: "refused", reason: textLike(/1000/) },
      { name: "销量.csv", state: "imported" },
    ]);
    const seen = JSON.stringify(model.request(0).messages);
    expect(seen).toContain("big.bin");
    expect(seen).toContain(`${inboxOf(model.request(0))}/1/`);
  });

  it("cancels a run within a second and leaves no process of it", async () => {
    proves("FLOW-10");
    using _model = await begin([
      runs("sleep 600 & sleep 600"),
      runs('pgrep -c -u "$(id -u)" sleep'),
      late((request) => text(lastExec(request).stdout)),
    ]);
    const started = await service.fetch("/v1/runs", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...message("42", "Sleep"), stream: true }),
    });
    const seen: string[] = [];
    let cancelled: Promise<Response> | null = null;
    for await (const event of streamEvents(started)) {
      seen.push(event.type);
      if (event.type === "tool.call.started")
        cancelled = service.fetch(`/v1/runs/${event.run_id}/cancel`, { method: "POST" });
    }
    expect(seen.at(-1)).toBe("run.cancelled");
    expect(await (await cancelled)?.json()).toMatchObject({ status: "cancelled", deliveries: [] });
    const next = await service.send(message("42", "Anything left?"));
    expect(next.message?.content.trim()).toBe("0");
  });
});
