/** Which runs share a box, and which get none, on a real engine (box §2, §4). */
import { describe, expect, inject, it } from "vitest";
import { text } from "../fakes/scripted-model.js";
import { inboxOf, runs, saysStdout, wholeText } from "../support/agent-script.js";
import { errorCode } from "../support/composed-service.js";
import { proves } from "../support/proves.js";
import { attached, chatMessage, serviceForAll } from "../support/shared-service.js";

const hasEngine = inject("dockerAvailable");

describe.skipIf(!hasEngine)("the template {global}", () => {
  const service = serviceForAll({ config: { "box-session-id-template": "{global}" } });

  it("gives every chat of the tenant one box", async () => {
    proves("KEY-02");
    using _model = service().script(
      runs("echo shared > /workspace/note.txt"),
      text("kept"),
      runs("cat /workspace/note.txt"),
      saysStdout(),
    );
    const first = await service().send(chatMessage("ann", "Keep this"));
    const second = await service().send(chatMessage("bob", "What was kept?"));
    expect(second.message?.content).toBe("shared\n");
    expect(second.session).toEqual(first.session);
    expect(first.session?.key).toBe("global");
    expect(await service().containers()).toHaveLength(1);
  });
});

describe.skipIf(!hasEngine)("the template {run_id}", () => {
  const service = serviceForAll({ config: { "box-session-id-template": "{run_id}" } });

  it("gives every run a box of its own, in one chat too", async () => {
    proves("KEY-04");
    using _model = service().script(
      runs("echo mine > /workspace/note.txt"),
      text("kept"),
      runs("ls /workspace"),
      saysStdout(),
    );
    const first = await service().send(chatMessage("ann", "Keep this"));
    const second = await service().send(chatMessage("ann", "What was kept?"));
    expect(second.message?.content).not.toContain("note.txt");
    expect([first.session?.key, second.session?.key]).toEqual([first.id, second.id]);
    expect(second.session?.id).not.toBe(first.session?.id);
    expect(await service().containers()).toHaveLength(2);
  });
});

describe.skipIf(!hasEngine)("settings of a box in a request", () => {
  const service = serviceForAll();

  it.each(["host_path", "extra_mounts", "max_sessions", "memory_mb", "session_id", "image"])(
    "are refused by name, and nothing is created: %s",
    async (field) => {
      using _model = service().script();
      const value = { host_path: "/", extra_mounts: [{ source: "/", target: "/host" }] };
      const base = chatMessage("eve", "Hello");
      const places: readonly Readonly<Record<string, unknown>>[] = [
        { ...base, [field]: value },
        { ...base, box: { [field]: value } },
        { ...base, chat: { launcher_type: "person", launcher_id: "eve", [field]: value } },
        { ...base, input: { text: "Hello", [field]: value } },
      ];
      for (const place of places) {
        const response = await service().post(place);
        expect(response.status).toBe(400);
        expect(await errorCode(response)).toBe("request.invalid");
      }
      const listed: unknown = await (await service().fetch("/v1/runs")).json();
      expect(listed).toMatchObject({ data: [] });
      expect(await service().containers()).toEqual([]);
    },
  );

  it("change nothing as variables: the box is made as the operator said", async () => {
    using _model = service().script(text("hello"));
    const variables = { image: "evil:latest", memory_mb: 1, host_path: "/", extra_mounts: "/:/host" };
    await service().send({ ...chatMessage("eve", "Hello"), variables });
    const [container] = await service().containers();
    const facts = await service()
      .engine.getContainer(container?.Id ?? "")
      .inspect();
    expect(facts.Config.Image).toBe("berth-box:slim");
    expect(facts.HostConfig.Memory).toBe(512 * 1024 * 1024);
    // Volumes of the service's own, and nothing that a request could name.
    expect(new Set(facts.Mounts.map(({ Type: type }) => type))).toEqual(new Set(["volume"]));
    expect(facts.Mounts.map(({ Destination: target }) => target)).toContain("/workspace");
    expect(JSON.stringify(facts.Mounts)).not.toMatch(/"\/host"|"\/"/);
    expect(facts.HostConfig.Binds ?? []).toEqual([]);
  });
});

describe.skipIf(!hasEngine)("a pipeline without exec and file tools", () => {
  const service = serviceForAll({ pipeline: { policy: { allowed_tool_names: ["export_box_files"] } } });

  it("acquires no box, offers no tool, and keeps the attachment as content of the message", async () => {
    proves("KEY-18");
    using model = service().script(text("I see the name only."));
    const run = await service().send(chatMessage("42", "Look", [attached("table.csv", "a,b\n")]));
    expect(run).toMatchObject({ status: "completed", session: null, error: null });
    expect(run.attachments).toMatchObject([{ name: "table.csv", path: null, bytes: 4 }]);
    const request = model.request(0);
    expect(request.tools).toEqual([]);
    expect(wholeText(request)).toContain("table.csv");
    expect(wholeText(request)).not.toContain("/workspace");
    expect(() => inboxOf(request)).toThrow("names no such directory");
    expect(await service().containers()).toEqual([]);
  });
});
