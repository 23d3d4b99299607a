/** Exported files on their way to the user, through the whole service (box §8, §9). */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { z } from "zod";
import { messageText } from "../../src/domain/message.js";
import { type Run, runSchema } from "../../src/domain/run.js";
import type { ChatRequest } from "../../src/ports/chat-model.js";
import { calls, rateLimited, text } from "../fakes/scripted-model.js";
import { exports, lastToolResults, late, outboxOf, runs, saysStdout } from "../support/agent-script.js";
import { proves } from "../support/proves.js";
import { readStream } from "../support/read-events.js";
import { chatMessage, serviceForAll } from "../support/shared-service.js";

const hasEngine = inject("dockerAvailable");

const delta = z.object({ chunk: z.object({ content: z.string() }) });

function namesOf({ deliveries }: Run): readonly string[] {
  return deliveries.map(({ name }) => name);
}

/** Who speaks in the conversation of a request. */
function who({ messages }: ChatRequest): "Ann" | "Bob" {
  return messages.some((said) => said.role === "user" && messageText(said).includes("I am Ann"))
    ? "Ann"
    : "Bob";
}

/** What an export of absolute paths was refused with. */
function lastRefusal(request: ChatRequest): string {
  const [result = ""] = lastToolResults(request);
  if (!result.startsWith("Error: ")) throw new Error(`This was no refusal: ${result}`);
  return result;
}

/** One export of one path per call; OUTBOX stands for the directory itself. */
const eachAlone = (...paths: readonly string[]) =>
  late((request) =>
    calls(
      paths.map((path) => ({
        name: "export_box_files",
        arguments: { paths: [path === "OUTBOX" ? outboxOf(request) : path] },
      })),
    ),
  );

describe.skipIf(!hasEngine)("an export", () => {
  const service = serviceForAll();

  it("that fails leaves the text that was streamed", async () => {
    proves("OUT-07");
    using _model = service().script(
      calls([{ name: "exec", arguments: { command: "true" } }], { text: "I begin." }),
      exports("missing.txt"),
      text("It is not there."),
    );
    const response = await service().post({ ...chatMessage("one", "Send it"), stream: true });
    const events = await readStream(response);
    const shown = events.flatMap(({ type, data }) =>
      type === "message.delta" ? [delta.parse(data).chunk.content] : [],
    );
    expect(shown.at(0)).toBe("I begin.");
    expect(shown.at(-1)).toBe("I begin.\n\nIt is not there.");
    for (const [i, snapshot] of shown.entries()) expect(snapshot.startsWith(shown[i - 1] ?? "")).toBe(true);
    const run = runSchema.parse(events.at(-1)?.data);
    expect(run).toMatchObject({ status: "completed", deliveries: [] });
    expect(run.message?.content).toBe("I begin.\n\nIt is not there.");
  });

  it("tells images, voice and other files apart by their extension, and keeps the base name", async () => {
    const kinds = {
      "chart.png": "image",
      "photo.JPG": "image",
      "clip.mp3": "voice",
      "report.pdf": "file",
      README: "file",
    };
    const names = Object.keys(kinds);
    using _model = service().script(
      runs(
        `mkdir -p "$BERTH_OUTBOX/sub dir"; cd "$BERTH_OUTBOX/sub dir"; for f in ${names.join(" ")}; do echo $f > $f; done`,
      ),
      exports(...names.map((name) => `sub dir/${name}`)),
      text("sent"),
    );
    const run = await service().send(chatMessage("two", "Send them"));
    expect(run.deliveries.map(({ name, kind }) => [name, kind])).toEqual(Object.entries(kinds));
    for (const [i, name] of names.entries())
      expect((await service().download(run, i)).toString()).toBe(`${name}\n`);
  });

  it("of one file among 100,000 takes that file, and the run's end lists no more than it may", async () => {
    proves("OUT-11");
    const fill = "import os\nfor i in range(100000): os.close(os.open(f'f{i:06}', os.O_CREAT))";
    using _model = service().script(
      runs(`cd "$BERTH_OUTBOX" && python3 -c "${fill}" && echo wanted > wanted.txt`),
      exports("wanted.txt"),
      runs('cd "$BERTH_OUTBOX" && ls -f | wc -l && ls wanted.txt 2>/dev/null; rm -r "$BERTH_OUTBOX"/f00*'),
      saysStdout(),
    );
    const run = await service().send(chatMessage("three", "Send one"));
    // The names with the two directories "." and "..".
    expect(run).toMatchObject({ status: "completed", message: { content: "100002\n" } });
    expect((await service().download(run)).toString()).toBe("wanted\n");
    expect(run.outbox_left).toHaveLength(50);
    const elapsedMs = Date.parse(run.ended_at ?? "") - Date.parse(run.started_at ?? "");
    expect(elapsedMs).toBeLessThan(30_000);
  });

  it("never leads out of the workspace, nor to a file of the host", async () => {
    proves("OUT-14");
    const directory = await mkdtemp(join(tmpdir(), "berth-canary-"));
    const canary = join(directory, "canary.txt");
    await writeFile(canary, "HOST-CANARY");
    try {
      const hostile = ["passwd", "shadow", "etc/shadow", "hard", "pipe", "device", "canary", "sub"];
      const paths = ["../../etc/passwd", "../../../etc/passwd", ...hostile];
      using model = service().script(
        runs(
          `cd "$BERTH_OUTBOX"; echo good > good.txt; ln -s ../../../../../etc/passwd passwd; ln -s /etc/shadow shadow; ln -s /etc etc; echo h > h0; ln h0 hard; mkfifo pipe; mknod device c 1 5 2>/dev/null || ln -s /dev/zero device; ln -s ${canary} canary; mkdir sub`,
        ),
        ...paths.map((path) => exports("good.txt", path)),
        exports("good.txt"),
        runs('cd "$BERTH_OUTBOX"; ls -A | tr "\\n" " "; wc -l < /etc/passwd'),
        saysStdout(),
      );
      const run = await service().send(chatMessage("four", "Send them all"));
      expect(namesOf(run)).toEqual(["good.txt"]);
      expect(run.message?.content).toMatch(/^canary device etc h0 hard passwd pipe shadow sub [1-9]\d*\n$/);
      const refusals = paths.map((_path, i) => lastRefusal(model.request(i + 2)));
      expect(refusals.map((refusal) => refusal.split("\n").length)).toEqual(paths.map(() => 2));
      expect(await readFile(canary, "utf8")).toBe("HOST-CANARY");
      for (const request of model.requests) expect(JSON.stringify(request)).not.toContain("HOST-CANARY");
      expect(JSON.stringify(run)).not.toMatch(/HOST-CANARY|root:/);
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it("delivers the bytes of its moment; links of the answer lead to them, or say that nothing was delivered", async () => {
    proves("OUT-05", "OUT-13");
    using _model = service().script(
      runs('cd "$BERTH_OUTBOX"; echo then > a.txt; echo b > b.txt'),
      exports("a.txt"),
      runs('echo later > "$BERTH_OUTBOX/a.txt"'),
      late((request) => text(`[A](${outboxOf(request)}/a.txt) and [B](sandbox:${outboxOf(request)}/b.txt)`)),
    );
    const run = await service().send(chatMessage("eight", "Send one"));
    expect(namesOf(run)).toEqual(["a.txt"]);
    expect((await service().download(run)).toString()).toBe("then\n");
    expect(run.message?.content).toBe(`[A](${run.deliveries[0]?.url}) and B (not delivered)`);
    expect(run.outbox_left.map(({ bytes }) => bytes)).toEqual([6, 2]);
  });

  it("refuses paths that name no file of the workspace, and takes the path it tells instead", async () => {
    proves("OUT-12", "OUT-16");
    using model = service().script(
      runs('echo r > /workspace/report.md; echo o > "$BERTH_OUTBOX/out.txt"'),
      eachAlone("../x", "/", "", ".", "OUTBOX", "out.txt"),
      late((request) => exports(/Use "([^"]+)"/.exec(lastToolResults(request)[5] ?? "")?.[1] ?? "")),
      exports("/workspace/report.md"),
      text("sent"),
    );
    const run = await service().send(chatMessage("nine", "Send them"));
    const refusals = lastToolResults(model.request(2));
    expect(refusals.map((refusal) => refusal.startsWith("Error: "))).toEqual(refusals.map(() => true));
    expect(refusals[5]).toContain(`"${outboxOf(model.request(0))}/out.txt"`);
    expect(namesOf(run)).toEqual(["out.txt", "report.md"]);
    expect((await service().download(run)).toString()).toBe("o\n");
  });

  it("waits for the commands before it in its batch", async () => {
    proves("OUT-18");
    const write =
      'sleep 1; printf half > "$BERTH_OUTBOX/out.txt"; sleep 1; echo " whole" >> "$BERTH_OUTBOX/out.txt"';
    using _model = service().script(
      late((request) =>
        calls([
          { name: "exec", arguments: { command: write } },
          { name: "export_box_files", arguments: { paths: [`${outboxOf(request)}/out.txt`] } },
        ]),
      ),
      text("sent"),
    );
    const run = await service().send(chatMessage("five", "Write and send"));
    expect(namesOf(run)).toEqual(["out.txt"]);
    expect((await service().download(run)).toString()).toBe("half whole\n");
  });

  it("says that its file is registered and gone, and of a second try that it was delivered", async () => {
    proves("OUT-19");
    using model = service().script(
      runs('echo a > "$BERTH_OUTBOX/a.txt"'),
      exports("a.txt"),
      runs('ls "$BERTH_OUTBOX"'),
      exports("a.txt"),
      text("sent"),
    );
    const run = await service().send(chatMessage("six", "Send it twice"));
    const [first] = lastToolResults(model.request(2));
    expect(first).toContain(
      "1 file is registered for delivery to the user. Their sources in the box are gone",
    );
    expect(lastToolResults(model.request(3))[0]).toContain('"stdout":""');
    expect(lastRefusal(model.request(4))).toContain(
      `already exported in this run as ${run.deliveries[0]?.id}`,
    );
    expect(namesOf(run)).toEqual(["a.txt"]);
  });

  it("is delivered although the model fails for good after it, and the error says what was done", async () => {
    proves("MODEL-14");
    for (const stream of [false, true]) {
      using model = service().script(
        late((request) =>
          calls([
            { name: "exec", arguments: { command: 'echo a > "$BERTH_OUTBOX/a.txt"' } },
            { name: "export_box_files", arguments: { paths: [`${outboxOf(request)}/a.txt`] } },
          ]),
        ),
        rateLimited(),
        rateLimited(),
        rateLimited(),
      );
      const response = await service().post({ ...chatMessage("seven", "Send it"), stream });
      const run = runSchema.parse(stream ? (await readStream(response)).at(-1)?.data : await response.json());
      expect(run).toMatchObject({ status: "failed", error: { code: "runner.llm_error", retryable: true } });
      expect(run.error?.message).toContain("1 tool round (exec 1, export_box_files 1)");
      expect(namesOf(run)).toEqual(["a.txt"]);
      expect((await service().download(run)).toString()).toBe("a\n");
      expect(run.warnings.map(({ code }) => code)).toEqual(["model.retry", "model.retry"]);
      expect(model.requests).toHaveLength(4);
    }
  });
});

/** Replies of the model in this run so far. */
function roundsOf(request: ChatRequest): number {
  const user = request.messages.findLastIndex(({ role }) => role === "user");
  return request.messages.slice(user).filter(({ role }) => role === "assistant").length;
}

describe.skipIf(!hasEngine)("exports of two runs in one box", () => {
  const service = serviceForAll({ config: { "box-session-id-template": "{global}" } });

  it("come from directories of their own, and nothing crosses over", async () => {
    proves("OUT-10");
    const writes = late((request) =>
      runs(
        `echo ${who(request)} > "$BERTH_OUTBOX/same.txt"; touch /workspace/ready-${who(request)}; while [ $(ls /workspace/ready-* | wc -l) -lt 2 ]; do sleep 0.05; done; ls -d /workspace/outbox/*`,
      ),
    );
    const takesTheOther = late((request) => {
      const own = outboxOf(request);
      const all = (lastToolResults(request)[0] ?? "").match(/\/workspace\/outbox\/run_[0-9a-f]+/g) ?? [];
      const others = all.filter((path) => path !== own).map((path) => `${path}/same.txt`);
      return exports(...new Set(others));
    });
    // The two runs take turns as they come: what a run does next depends on what it has done, not on the order.
    const turns = [writes, takesTheOther, exports("same.txt"), text("sent")] as const;
    const next = late((request) => turns[roundsOf(request)] ?? text("too much"));
    using model = service().script(...Array.from({ length: 2 * turns.length }, () => next));
    const [ann, bob] = await Promise.all([
      service().send(chatMessage("ann", "I am Ann")),
      service().send(chatMessage("bob", "I am Bob")),
    ]);
    expect([namesOf(ann), namesOf(bob)]).toEqual([["same.txt"], ["same.txt"]]);
    expect((await service().download(ann)).toString()).toBe("Ann\n");
    expect((await service().download(bob)).toString()).toBe("Bob\n");
    expect(ann.session).toEqual(bob.session);
    expect(await service().containers()).toHaveLength(1);
    const refusals = model.requests.flatMap(lastToolResults).filter((result) => result.startsWith("Error: "));
    expect(refusals).toHaveLength(2);
    for (const refusal of refusals) expect(refusal).toContain("does not belong to this run");
  });
});
