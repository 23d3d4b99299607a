/** MCP servers inside boxes of a real engine: started by the box user at the first call, one per box, gone with their use. */
import { describe, expect, inject, it } from "vitest";
import { z } from "zod";
import type { ChatRequest } from "../../src/ports/chat-model.js";
import { calls, type Step, text } from "../fakes/scripted-model.js";
import { lastToolResults, runs, says } from "../support/agent-script.js";
import { chatMessage, serviceForAll } from "../support/shared-service.js";

/** Enough of a server: it names its process, its user and the host that it sees, and reads the workspace. */
const PROGRAM = `
import json, os, sys, time
WORD = "mcp-in-a-box-probe"
TOOLS = [{"name": name, "description": "Probe.", "inputSchema": {"type": "object", "properties": {}}}
         for name in ("who", "notes", "picture", "hang", "die")]
def answer(message):
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "probe", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    name = params["name"]
    if name == "who":
        facts = {"pid": os.getpid(), "uid": os.getuid(), "cwd": os.getcwd(),
                 "routes": len(open("/proc/net/route").readlines()) - 1, "probe": os.environ["PROBE"]}
        return {"content": [{"type": "text", "text": json.dumps(facts)}]}
    if name == "notes":
        return {"content": [{"type": "text", "text": open("/workspace/notes.txt").read()}]}
    if name == "picture":
        return {"content": [{"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}]}
    if name == "hang":
        time.sleep(600)
    os._exit(3)
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}
        print(json.dumps(reply), flush=True)
`;
const WORD = "mcp-in-a-box-probe";

const factsSchema = z.object({
  pid: z.number(),
  uid: z.number(),
  cwd: z.string(),
  routes: z.number(),
  probe: z.string(),
});
const answersSchema = z.array(z.string());

function uses(...names: readonly string[]): Step {
  return calls(names.map((name) => ({ name, arguments: {} })));
}

/** The run's answer is what its last tools said. */
const saysAll: Step = says((request: ChatRequest) => JSON.stringify(lastToolResults(request)));

describe.skipIf(!inject("dockerAvailable"))("an MCP server in a box", () => {
  const service = serviceForAll({
    config: { tools: ["mcp:probe/*"] },
    settings: {
      tools: { call_timeout_sec: 3 },
      mcp_servers: [
        { id: "probe", where: "box", command: ["python3", "-c", PROGRAM], env: { PROBE: "in the box" } },
        { id: "unused", where: "box", command: ["/no/such/program"] },
      ],
    },
  });
  const answersOf = async (chat: string, ...steps: readonly Step[]): Promise<readonly string[]> => {
    using _model = service().script(...steps, saysAll);
    const run = await service().send(chatMessage(chat, "Ask the probe"));
    expect(run.warnings).toEqual([]);
    return answersSchema.parse(JSON.parse(String(run.message?.content)));
  };

  it("runs as the box user, in the workspace, without a network, and stays for all calls of a run", async () => {
    const [first, second] = await answersOf("who", uses("who", "who"));
    const facts = factsSchema.parse(JSON.parse(first ?? ""));
    expect(facts).toMatchObject({ cwd: "/workspace", routes: 0, probe: "in the box" });
    expect(facts.uid).toBeGreaterThan(30_000);
    expect(factsSchema.parse(JSON.parse(second ?? "")).pid).toBe(facts.pid);
    expect(await service().countProcesses(WORD)).toBe(0);
  });

  it("sees the files of its own box, and gives binary answers as files there", async () => {
    const steps = [runs("printf 'of this chat' > /workspace/notes.txt"), uses("notes", "picture")];
    const [notes, picture] = await answersOf("files", ...steps);
    expect(notes).toBe("of this chat");
    const path = /kept as (\S+)\]/u.exec(picture ?? "")?.[1] ?? "";
    const [read] = await answersOf("files", runs(`cat ${path}`));
    expect(read).toContain("hello");
    const [elsewhere] = await answersOf("others", uses("notes"));
    expect(elsewhere).toContain("Error: ");
    expect(service().takeTroubles()).toHaveLength(1);
  });

  it("is started again after it ended in a call, and the call says so", async () => {
    const [died] = await answersOf("dies", uses("die"));
    expect(died).toBe('Error: The MCP server "probe" in the box ended.');
    const [alive] = await answersOf("dies", uses("who"));
    expect(alive).toContain("pid");
    expect(service().takeTroubles()).toHaveLength(1);
  });

  it("is held to the time limit of tools, and leaves nothing behind", async () => {
    const [hung] = await answersOf("hangs", uses("hang"));
    expect(hung).toContain("hang did not finish within 3 s and was stopped");
    await expect.poll(() => service().countProcesses(WORD), { timeout: 10_000 }).toBe(0);
  });

  it("is not started by a run that calls none of its tools, once its list is known", async () => {
    using model = service().script(runs("pgrep -fc mcp-in-a-box-[p]robe; true"), saysAll);
    await service().send(chatMessage("who", "Count it"));
    expect(lastToolResults(model.request()).join("")).toContain('"stdout":"0');
  });

  it("costs nothing where no tool of it is selected, whether or not it could start", async () => {
    using _model = service().script(text("Nothing there."));
    const run = await service().send(chatMessage("broken", "Hello"));
    expect([run.status, run.warnings]).toEqual(["completed", []]);
  });
});
