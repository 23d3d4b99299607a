/** Boxes over idle times, accidents and restarts of the service, as their chats see it (box §11). */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import Docker from "dockerode";
import { describe, expect, inject, it } from "vitest";
import { messageText } from "../../src/domain/message.js";
import { runListSchema } from "../../src/http/schemas/run-bodies.js";
import { after, failure, ScriptedModel, type Step, text } from "../fakes/scripted-model.js";
import { lastExec, lastToolResults, runs, saysStdout, wholeText } from "../support/agent-script.js";
import { onePipeline, standIn, startService } from "../support/composed-service.js";
import { removeServiceDirectory } from "../support/data-directory.js";
import { proves } from "../support/proves.js";
import { ownedContainers, ownedVolumes, removeOwned, serviceIdOf } from "../support/service-boxes.js";
import { attached, chatMessage, serviceForAll } from "../support/shared-service.js";
import { textLike } from "../support/text-like.js";

const hasEngine = inject("dockerAvailable");

/** A step that the model thinks about for longer than its box may be idle. */
function thinks(step: Step): Step {
  return after(delay(5000), step);
}

/** Makes a wheel by hand, as no network is there, and installs it for the user. */
const INSTALL = `
cat > /tmp/make.py <<'END'
import zipfile
wheel = zipfile.ZipFile("/tmp/berthly-1.0-py3-none-any.whl", "w")
wheel.writestr("berthly.py", "WORD = 'installed'")
wheel.writestr("berthly-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: berthly\\nVersion: 1.0\\n")
wheel.writestr("berthly-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
wheel.writestr("berthly-1.0.dist-info/RECORD", "")
wheel.close()
END
python3 /tmp/make.py && pip install --user --no-index /tmp/berthly-1.0-py3-none-any.whl`;

describe.skipIf(!hasEngine)("a box", () => {
  const service = serviceForAll({ boxes: { image: "berth-box:full" } });

  const containerIds = async (): Promise<readonly string[]> =>
    (await service().containers()).map(({ Id: id }) => id);

  it("keeps what was installed in it, also after a run that failed", async () => {
    proves("BOX-18");
    using _model = service().script(
      runs(INSTALL),
      failure("model.request_refused"),
      runs("python3 -c 'import berthly; print(berthly.WORD)'"),
      saysStdout(),
    );
    const failed = await service().send(chatMessage("installs", "Install it"));
    expect(failed).toMatchObject({ status: "failed", error: { code: "runner.llm_error" } });
    const before = await containerIds();
    const next = await service().send(chatMessage("installs", "Use it"));
    expect(next).toMatchObject({ status: "completed", message: { content: "installed\n" } });
    expect(await containerIds()).toEqual(before);
  });

  it("that somebody removed between two runs is made anew: the files are there, and the model is told", async () => {
    using model = service().script(
      runs("echo kept > /workspace/kept.txt; echo lost > /tmp/lost.txt"),
      text("kept"),
      runs("cat /workspace/kept.txt; ls /tmp"),
      saysStdout(),
    );
    const first = await service().send(chatMessage("loses", "Keep it"));
    await removeBoxes(first.session?.id ?? "");
    const next = await service().send(chatMessage("loses", "What is there?"));
    expect(next).toMatchObject({ session: first.session, message: { content: "kept\n" } });
    expect(wholeText(model.request(2))).toMatch(/running processes .* are gone; .*\/workspace are kept/);
  });

  it("that somebody removes during a command is made anew for the next call of the run", async () => {
    proves("BOX-16");
    using model = service().script(
      runs('echo kept > /workspace/kept.txt; echo mine > "$BERTH_OUTBOX/mine.txt"; sleep 613; echo finished'),
      runs(
        'cat /workspace/kept.txt "$BERTH_OUTBOX/mine.txt" "$BERTH_INBOX/0/a.txt"; pgrep -cxu "$(id -u)" sleep',
      ),
      saysStdout(),
    );
    const running = service().send(chatMessage("torn", "Work", [attached("a.txt", "attached\n")]));
    await expect.poll(() => service().countProcesses("sleep 613"), { timeout: 20_000 }).toBeGreaterThan(0);
    const going = runListSchema.parse(await (await service().fetch("/v1/runs?status=running")).json());
    await removeBoxes(going.data[0]?.session?.id ?? "");
    const run = await running;
    expect(lastExec(model.request(1))).toMatchObject({ exit_code: null, stdout: "" });
    expect(lastToolResults(model.request(1))[0]).toContain("The box stopped while the command ran");
    expect(run).toMatchObject({ status: "completed", message: { content: "kept\nmine\nattached\n0\n" } });
    expect(lastToolResults(model.request(2))[0]).toMatch(
      /running processes .* are gone; .*\/workspace are kept/,
    );
    for (const line of service().takeTroubles()) expect(line).toMatch(/ended without an answer|is replaced/);
    using next = service().script(text("fine"));
    await service().send(chatMessage("torn", "And now?"));
    expect(messageText(next.request(0).messages.at(-1) ?? { content: null })).not.toContain("are gone");
  });

  /** Does what `docker rm -f` does to the box of a session. */
  async function removeBoxes(sessionId: string): Promise<void> {
    const filters = { label: [`berth.session=${sessionId}`] };
    const found = await service().engine.listContainers({ all: true, filters });
    expect(found).toHaveLength(1);
    for (const { Id: id } of found) await service().engine.getContainer(id).remove({ force: true });
  }
});

describe.skipIf(!hasEngine)("an idle box", () => {
  const service = serviceForAll({ boxes: { idle_ttl_sec: 2, remove_after_sec: 0 } });

  it("is rested after its time, and comes back with its files, without its processes; the model is told", async () => {
    proves("BOX-04");
    using model = service().script(
      runs("echo kept > /workspace/kept.txt; setsid sleep 614 & echo begun"),
      text("begun"),
      runs('cat /workspace/kept.txt; pgrep -cxu "$(id -u)" sleep'),
      saysStdout(),
    );
    const first = await service().send(chatMessage("rests", "Begin"));
    expect(await service().containers()).toHaveLength(1);
    await expect.poll(() => service().containers(), { timeout: 15_000, interval: 200 }).toEqual([]);
    expect(await ownedVolumes(service().engine, service().id)).toHaveLength(1);
    const next = await service().send(chatMessage("rests", "What is there?"));
    expect(next).toMatchObject({ session: first.session, message: { content: "kept\n0\n" } });
    expect(wholeText(model.request(2))).toMatch(/The box was rested .*processes .* are gone/);
  });

  it("is none while its run goes on, however long the model thinks", async () => {
    proves("BOX-23");
    using _model = service().script(
      runs("echo $$ > /tmp/here; stat -c %Y /proc/1"),
      thinks(runs("cat /tmp/here >/dev/null && echo same box")),
      saysStdout(),
    );
    const log = service().log.length;
    const run = await service().send(chatMessage("thinks", "Think"));
    expect(run.message?.content).toBe("same box\n");
    const rested = service()
      .log.slice(log)
      .split("\n")
      .filter((line) => line.includes("rested"));
    expect(rested.filter((line) => line.includes(run.session?.id ?? "none"))).toEqual([]);
  });

  it("is none between messages that come sooner than its time", async () => {
    proves("BOX-24");
    const ids = new Set<string | undefined>();
    for (let i = 0; i < 8; i += 1) {
      using _model = service().script(
        runs("touch /tmp/here$(ls /tmp | wc -l); ls /tmp | wc -l"),
        saysStdout(),
      );
      const run = await service().send(chatMessage("talks", `Number ${i}`));
      expect(run.message?.content).toBe(`${i + 1}\n`);
      ids.add(
        (
          await service().engine.listContainers({ filters: { label: [`berth.session=${run.session?.id}`] } })
        )[0]?.Id,
      );
      await delay(1000);
    }
    expect(ids.size).toBe(1);
  });
});

describe.skipIf(!hasEngine)("a failed beginning", () => {
  const service = serviceForAll({
    boxes: { idle_ttl_sec: 1, remove_after_sec: 0 },
    model: { abilities: ["func_call", "vision"] },
  });
  const missingImage = serviceForAll({ boxes: { image: "berth-box:no-such-image" } });

  it("leaves no box behind, fifteen times", async () => {
    proves("BOX-19");
    const broken = [
      { type: "file_url", name: "gone.txt", url: "http://127.0.0.1:9/gone.txt" },
      { type: "file_base64", name: "no.bin", data: "%%%" },
      attached("no.png", "no picture", "image_base64"),
    ];
    const dead = failure("model.credentials_refused");
    using _model = service().script(...Array.from({ length: 12 }, () => dead));
    using none = missingImage().script();
    const [failed, imageless] = await Promise.all([
      Promise.all(
        Array.from({ length: 12 }, (_none, i) => service().send(chatMessage(`${i}`, "Go", broken))),
      ),
      Promise.all([1, 2, 3].map((i) => missingImage().send(chatMessage(`${i}`, "Go")))),
    ]);
    expect(failed.map(({ error }) => error?.code)).toEqual(failed.map(() => "runner.llm_error"));
    expect(failed[0]?.attachments.map(({ state }) => state)).toEqual(["refused", "refused", "imported"]);
    expect(imageless.map(({ error }) => error?.code)).toEqual(imageless.map(() => "box.readiness"));
    expect(imageless[0]?.error?.hint).toMatch(/npm run image.*switched off/);
    expect(none.requests).toEqual([]);
    expect(missingImage().takeTroubles()).toMatchObject([textLike(/engine is not available/)]);
    await expect.poll(() => service().containers(), { timeout: 20_000, interval: 250 }).toEqual([]);
    expect(await missingImage().containers()).toEqual([]);
    expect(await ownedVolumes(service().engine, missingImage().id)).toEqual([]);
  });
});

describe.skipIf(!hasEngine)("a service that starts again", () => {
  it("takes its boxes as they are, makes those anew whose settings changed, and never repeats a run id", async () => {
    proves("IN-19", "BOX-25");
    const directory = await mkdtemp(join(tmpdir(), "berth-life-"));
    const source = await mkdtemp(join(tmpdir(), "berth-mount-"));
    const engine = new Docker();
    const runIds: string[] = [];
    const told: string[] = [];
    const boxIds: (string | undefined)[] = [];
    /** One life of the service: two messages with a file each. @returns what the box says at the end */
    const live = async (boxes: Readonly<Record<string, unknown>>): Promise<string | undefined> => {
      const look = runs("cd /workspace/inbox; ls -d run_*; cat */0/n.txt | wc -l; nproc >/dev/null; ls /tmp");
      const model = new ScriptedModel([runs("touch /tmp/here; :"), text("one"), look, saysStdout()]);
      await using service = await startService({
        directory,
        models: new Map([["m1", model]]),
        settings: {
          models: [standIn("m1")],
          pipelines: [onePipeline("m1")],
          boxes: { image: "berth-box:slim", ...boxes },
        },
      });
      const one = await service.send(chatMessage("42", "One", [attached("n.txt", "1\n")]));
      const two = await service.send(chatMessage("42", "Two", [attached("n.txt", "2\n")]));
      model.assertFinished();
      runIds.push(one.id, two.id);
      told.push(
        wholeText(model.request(0)).includes("settings of the box changed") ? "changed" : "as it was",
      );
      const found = await ownedContainers(engine, await serviceIdOf(directory));
      expect(found).toHaveLength(1);
      boxIds.push(found[0]?.Id);
      return two.message?.content;
    };
    try {
      await live({});
      await live({});
      await live({ memory_mb: 256 });
      await live({ memory_mb: 256, image: "berth-box:full" });
      const mount = { source, target: "/data", read_only: true };
      const last = await live({
        memory_mb: 256,
        image: "berth-box:full",
        extra_mounts: [mount],
        allowed_mount_roots: [source],
      });
      expect(new Set(runIds).size).toBe(10);
      expect(last).toBe(`${runIds.toSorted().join("\n")}\n10\nhere\n`);
      expect(told).toEqual(["as it was", "as it was", "changed", "changed", "changed"]);
      expect(boxIds[1]).toBe(boxIds[0]);
      expect(new Set(boxIds).size).toBe(4);
    } finally {
      await rm(source, { recursive: true });
      await removeOwned(engine, await serviceIdOf(directory));
      await removeServiceDirectory(directory);
    }
  });
});
