/** Tenants on a real engine: who is admitted, what closes, and whose workspace is whose (box §16.3, §16.4). */
import { describe, expect, inject, it } from "vitest";
import { text } from "../fakes/scripted-model.js";
import { runs, saysStdout } from "../support/agent-script.js";
import { ControlPlane } from "../support/control-plane.js";
import { json } from "../support/http-service.js";
import { proves } from "../support/proves.js";
import { readError } from "../support/read-answer.js";
import { chatMessage, SharedService } from "../support/shared-service.js";

const hasEngine = inject("dockerAvailable");
const KEYS = ["main", "other"].map((tenant) => ({
  key: `key-of-${tenant}-0123456789-0123456789abcdef`,
  tenant,
  role: "admin",
}));

describe.skipIf(!hasEngine)("a tenant of a control plane", () => {
  it("is admitted for a grant only; when it ends the box is closed and the workspace kept", async () => {
    proves("TEN-01");
    await using plane = await ControlPlane.start();
    await using service = await SharedService.start({
      boxes: { persistent: true },
      settings: { grants: { url: plane.url, token: "canary-token", refresh_sec: 1 } },
    });
    const refused = async (id: string): Promise<string> => {
      const answer = await service.fetch(`/v1/sessions/${id}/exec`, json({ command: "cat note.txt" }));
      return (await readError(answer)).code;
    };
    plane.grant();
    using model = service.script(runs("echo kept > /workspace/note.txt"), text("done"));
    const run = await service.send(chatMessage("ann", "Keep this"));
    expect(run).toMatchObject({ status: "completed" });
    const id = run.session?.id ?? "";
    expect(await service.containers()).toHaveLength(1);
    model.assertFinished();
    plane.grant({ revision: 2, boxes: 0 });
    await expect.poll(async () => (await service.containers()).length, { timeout: 20_000 }).toBe(0);
    expect(await refused(id)).toBe("box.admission");
    plane.grant({ revision: 3 }, 3000);
    const again = await service.fetch(
      `/v1/sessions/${id}/exec`,
      json({ command: "cat /workspace/note.txt" }),
    );
    expect(await again.json()).toMatchObject({ stdout: "kept\n" });
    plane.answer = 503;
    await expect.poll(async () => (await service.containers()).length, { timeout: 20_000 }).toBe(0);
    expect(await refused(id)).toBe("box.admission");
    expect(plane.asked[0]).toBe("GET /grants/main?tenant=main Bearer canary-token");
    expect(service.log).not.toContain("canary-token");
    service.takeTroubles();
  });

  it("without a grant gets no box", async () => {
    await using plane = await ControlPlane.start();
    await using service = await SharedService.start({ settings: { grants: { url: plane.url } } });
    using _model = service.script();
    const run = await service.send(chatMessage("ann", "Try"));
    expect(run).toMatchObject({ status: "failed", error: { code: "box.admission" } });
    expect(await service.containers()).toHaveLength(0);
  });
});

describe.skipIf(!hasEngine)("one key in two tenants", () => {
  it("is two boxes with separate storage", async () => {
    proves("TEN-02");
    await using service = await SharedService.start({ settings: { server: { port: 0, keys: KEYS } } });
    using _model = service.script(
      runs("echo mine > /workspace/note.txt"),
      text("kept"),
      runs("ls -A /workspace | grep -c note.txt || true"),
      saysStdout(),
    );
    const send = async (key: string): Promise<unknown> =>
      (await service.post(chatMessage("ann", "Hello"), { authorization: `Bearer ${key}` })).json();
    const [first, second] = [await send(KEYS[0]?.key ?? ""), await send(KEYS[1]?.key ?? "")];
    expect(second).toMatchObject({ status: "completed", message: { content: "0\n" } });
    expect(first).toMatchObject({ session: { key: "person_ann" } });
    expect(second).toMatchObject({ session: { key: "person_ann" } });
    const boxes = await service.containers();
    expect(boxes).toHaveLength(2);
    const places = boxes.flatMap(({ Mounts: mounts }) =>
      mounts.flatMap(({ Name: name, Destination: place }) => (place === "/workspace" ? [name] : [])),
    );
    expect(new Set(places).size).toBe(2);
  });
});
