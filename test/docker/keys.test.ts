/** Which runs share a box, and which get none, on a real engine (box §2, §4). */
import { describe, expect, inject, it } from "vitest";
import { text } from "../fakes/scripted-model.js";
import { inboxOf, lastToolResults, late, runs, saysStdout, wholeText } from "../support/agent-script.js";
import { errorCode, onePipeline } from "../support/composed-service.js";
import { proves } from "../support/proves.js";
import { attached, chatMessage, serviceForAll } from "../support/shared-service.js";

const hasEngine = inject("dockerAvailable");

function pipelineWith(id: string, template: string): Readonly<Record<string, unknown>> {
  return { ...onePipeline("m1", { "box-session-id-template": template }), id };
}

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

describe.skipIf(!hasEngine)("a required key", () => {
  const service = serviceForAll({
    config: { "box-session-id-template": "{sender_id}" },
    boxes: { required_reuse_key: "global" },
  });

  it("is told in the status and acquired by every chat, also where its template cannot be rendered", async () => {
    proves("KEY-06");
    const status: unknown = await (await service().fetch("/v1/boxes/status")).json();
    expect(status).toMatchObject({ required_reuse_key: "global" });
    using _model = service().script(
      runs("echo shared > /workspace/note.txt"),
      text("kept"),
      runs("cat /workspace/note.txt"),
      saysStdout(),
    );
    const first = await service().send(chatMessage("ann", "Keep this"));
    const second = await service().send(chatMessage("bob", "What was kept?"));
    expect(second.message?.content).toBe("shared\n");
    expect(second.session).toEqual({ ...first.session, key: "global" });
    expect(await service().containers()).toHaveLength(1);
  });
});

describe.skipIf(!hasEngine)("a key that is new", () => {
  const service = serviceForAll({ config: { "box-session-id-template": "{global}" } });

  it("gets one container, though twenty chats need it at once", async () => {
    proves("KEY-13");
    const step = late((request) =>
      lastToolResults(request).length === 0 ? runs("echo x >> /workspace/all.txt; echo done") : saysStdout(),
    );
    using _model = service().script(...Array.from({ length: 40 }, () => step));
    const all = await Promise.all(
      Array.from({ length: 20 }, (_none, i) => service().send(chatMessage(`${i}`, "Hi"))),
    );
    expect(all.map(({ message }) => message?.content)).toEqual(all.map(() => "done\n"));
    expect(new Set(all.map(({ session }) => session?.id)).size).toBe(1);
    expect(await service().containers()).toHaveLength(1);
  });
});

describe.skipIf(!hasEngine)("chats whose ids could be taken for one another", () => {
  const pipelines = [
    pipelineWith("pair", "{sender_id}_{launcher_id}"),
    pipelineWith("chat", "{launcher_type}_{launcher_id}"),
    pipelineWith("sender", "{bot_id}_{sender_id}"),
    pipelineWith("long", Array.from({ length: 6 }, () => "{sender_id}").join("_")),
  ];
  const service = serviceForAll({ settings: { pipelines, default_pipeline: "pair" } });

  /** Sends every chat a message that leaves a file. @returns how many files each of them sees */
  async function filesSeen(
    ...chats: readonly (readonly [pipeline: string, chat: Readonly<Record<string, string>>])[]
  ): Promise<readonly string[]> {
    const seen: string[] = [];
    for (const [pipeline, chat] of chats) {
      using _model = service().script(
        runs(
          "mkdir -p /workspace/seen; touch /workspace/seen/$(ls /workspace/seen | wc -l); ls /workspace/seen",
        ),
        saysStdout(),
      );
      const run = await service().send({
        pipeline,
        chat: { launcher_type: "group", ...chat },
        input: { text: "Hi" },
      });
      seen.push(run.message?.content ?? "");
    }
    return seen;
  }

  it("get boxes of their own where the separator stands inside a value", async () => {
    proves("KEY-07");
    const pairs = [
      ["x_y", "z"],
      ["x", "y_z"],
      ["x%5Fy", "z"],
      ["x", "y%5Fz"],
    ] as const;
    const chats = pairs.map(([sender_id, launcher_id]) => ["pair", { sender_id, launcher_id }] as const);
    expect(await filesSeen(...chats)).toEqual(["0\n", "0\n", "0\n", "0\n"]);
  });

  it("get boxes of their own where two templates render the same text", async () => {
    proves("KEY-09");
    const chat = { launcher_id: "b", bot_id: "group", sender_id: "b" };
    expect(await filesSeen(["chat", chat], ["sender", chat], ["chat", chat])).toEqual([
      "0\n",
      "0\n",
      "0\n1\n",
    ]);
  });

  it("get boxes of their own where ids differ in composition or white space alone", async () => {
    proves("KEY-10");
    const ids = ["caf\u00e9", "cafe\u0301", "caf\u00e9 "];
    const chats = ids.map((launcher_id) => ["chat", { launcher_id }] as const);
    expect(await filesSeen(...chats)).toEqual(["0\n", "0\n", "0\n"]);
  });

  it("are refused with a key of 1025 characters, or an empty id, and nothing is created", async () => {
    proves("KEY-05", "KEY-11");
    const before = (await service().containers()).length;
    const answers = await Promise.all(
      ["x".repeat(170), ""].map((sender_id) =>
        service().post({ pipeline: "long", chat: { launcher_id: "1", sender_id }, input: { text: "Hi" } }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([400, 400]);
    expect(await Promise.all(answers.map(errorCode))).toEqual(["box.validation", "session.variable_missing"]);
    expect(await service().containers()).toHaveLength(before);
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
    // What every box has, and nothing that a request could name.
    const kinds = new Map(facts.Mounts.map(({ Destination: target, Type: type }) => [target, type]));
    expect(kinds).toEqual(
      new Map([
        ["/opt/berth", "volume"],
        ["/run/berth", "bind"],
        ["/workspace", "volume"],
      ]),
    );
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
