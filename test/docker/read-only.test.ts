/** A service whose boxes can only read: files come in, commands look at them, and nothing is written or sent (box §10.2). */
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import Docker from "dockerode";
import { describe, expect, it } from "vitest";
import { ScriptedModel, text } from "../fakes/scripted-model.js";
import { inboxOf, lastExec, late, runs } from "../support/agent-script.js";
import { onePipeline, standIn, startService } from "../support/composed-service.js";
import { hasEngine } from "../support/engine.js";
import { removeOwned, serviceIdOf } from "../support/service-boxes.js";
import { attached, chatMessage } from "../support/shared-service.js";

const WRITES = "touch /workspace/x /workspace/inbox/x /shared/x; rm -rf /workspace/inbox/*";

describe.skipIf(!hasEngine())("the profile offline_readonly", () => {
  it("takes attachments over HTTP, lets commands read them and an extra mount, and nothing else", async () => {
    // In root's own directory and with spaces, as an operator may have it (box §10.4).
    const directory = await mkdtemp(join(homedir(), "berth read only "));
    const shared = await mkdtemp(join(homedir(), "berth shared "));
    await chmod(shared, 0o755);
    await writeFile(join(shared, "rates.csv"), "a,1\n");
    const look = late((request) =>
      runs(
        `cd ${inboxOf(request)}; cat */notes.txt /shared/rates.csv; stat -c '%u %a' */notes.txt; ${WRITES}; ls */notes.txt; seq 1 20000`,
      ),
    );
    const say = late((request) => text(lastExec(request).stdout));
    const model = new ScriptedModel([look, say, look, say]);
    try {
      await using service = await startService({
        directory,
        models: new Map([["m1", model]]),
        settings: {
          models: [standIn("m1")],
          pipelines: [onePipeline("m1")],
          boxes: {
            image: "berth-box:slim",
            profile: "offline_readonly",
            extra_mounts: [{ source: shared, target: "/shared" }],
            allowed_mount_roots: [homedir()],
          },
        },
      });
      const message = chatMessage("1", "Look at it", [attached("notes.txt", "first file\n")]);
      for (const _turn of [1, 2]) {
        const run = await service.send(message);
        expect([run.status, run.error]).toEqual(["completed", null]);
        expect(run.message?.content.slice(0, 60)).toMatch(/^first file\na,1\n0 644\n0\/notes\.txt\n1\n2\n/);
        expect(run.attachments).toMatchObject([{ state: "imported", name: "notes.txt" }]);
      }
      const offered = model.requests.map(({ tools }) => tools.map(({ name }) => name));
      expect(offered[0]).toEqual(expect.arrayContaining(["exec", "glob", "grep", "read"]));
      for (const hidden of ["write", "edit", "export_box_files"]) expect(offered[0]).not.toContain(hidden);
      expect(JSON.stringify(model.requests[1]?.messages)).toContain("The workspace is read-only.");
      model.assertFinished();
    } finally {
      await removeOwned(new Docker(), await serviceIdOf(directory));
      await rm(directory, { recursive: true, force: true });
      await rm(shared, { recursive: true, force: true });
    }
  });
});
