import { describe, expect, it } from "vitest";
import { z } from "zod";
import { nativeTools } from "../../../src/tools/native/index.js";
import { NativeToolSource, offerNativeTools } from "../../../src/tools/native-source.js";

const tools = nativeTools({ outputChars: 4000 });
const names = (facts: Parameters<typeof offerNativeTools>[1]): readonly string[] =>
  offerNativeTools(tools, facts).map((tool) => tool.tool_name);

const fieldSchema = z.strictObject({
  type: z.string(),
  description: z.string(),
  enum: z.array(z.string()).optional(),
  items: z.strictObject({ type: z.string() }).optional(),
});
/** The keywords of local-agent §5.2 and no others. */
const parametersSchema = z.strictObject({
  type: z.literal("object"),
  properties: z.record(z.string(), fieldSchema),
  required: z.array(z.string()),
});

describe("offerNativeTools", () => {
  it("offers all tools, sorted by name, where boxes can be written", () => {
    expect(names({ boxesEnabled: true, workspaceMode: "rw" })).toEqual([
      "edit",
      "exec",
      "export_box_files",
      "glob",
      "grep",
      "job",
      "read",
      "write",
    ]);
  });

  it("hides what writes or exports in a read-only workspace", () => {
    expect(names({ boxesEnabled: true, workspaceMode: "ro" })).toEqual([
      "exec",
      "glob",
      "grep",
      "job",
      "read",
    ]);
  });

  it("offers nothing without boxes", () => {
    expect(names({ boxesEnabled: false, workspaceMode: "rw" })).toEqual([]);
  });

  it("says of each tool where it comes from, what it takes, and what it touches", () => {
    const offered = offerNativeTools(tools, { boxesEnabled: true, workspaceMode: "rw" });
    expect(offered.map(({ source, source_id, effect }) => [source, source_id, effect])).toEqual([
      ["native", "berth", { kind: "box.files", access: "write", pathFields: ["path"] }],
      ["native", "berth", { kind: "box.exec" }],
      ["native", "berth", { kind: "box.export", pathFields: ["paths"] }],
      ["native", "berth", { kind: "box.search", pathFields: ["path"] }],
      ["native", "berth", { kind: "box.search", pathFields: ["path"] }],
      ["native", "berth", { kind: "box.exec" }],
      ["native", "berth", { kind: "box.files", access: "read", pathFields: ["path"] }],
      ["native", "berth", { kind: "box.files", access: "write", pathFields: ["path"] }],
    ]);
  });
});

describe("NativeToolSource", () => {
  const signal = new AbortController().signal;
  const source = new NativeToolSource(tools, { boxesEnabled: false, workspaceMode: "rw" });
  const outcome = async (toolName: string): Promise<unknown> => {
    const [resource] = offerNativeTools(tools, { boxesEnabled: true, workspaceMode: "rw" });
    if (resource === undefined) throw new Error("There is no tool.");
    const call = { id: "call_1", resource: { ...resource, tool_name: toolName }, input: {} };
    for await (const event of source.run(call, null, { signal })) return event;
    return null;
  };

  it("keeps the names of all its tools, also where it offers none", async () => {
    expect((await source.list()).tools).toEqual([]);
    expect(source.reservedNames).toContain("exec");
  });

  it("answers a call of nothing it has, and one without a box", async () => {
    expect(await outcome("calculator")).toMatchObject({ outcome: { error: "There is no such tool." } });
    expect(await outcome("read")).toMatchObject({ outcome: { error: "The tool needs a bound box." } });
  });
});

describe("schemas of native tools", () => {
  it.each(tools)("of $name use only keywords that every model takes, and describe every field", (tool) => {
    expect(parametersSchema.safeParse(tool.parameters)).toMatchObject({ success: true });
    expect(tool.description.length).toBeGreaterThan(40);
  });

  it("name the fields that must be there", () => {
    expect(Object.fromEntries(tools.map((tool) => [tool.name, tool.parameters["required"]]))).toEqual({
      edit: ["path", "old_string", "new_string"],
      exec: ["command"],
      export_box_files: ["paths"],
      glob: ["pattern"],
      grep: ["pattern"],
      job: ["action"],
      read: ["path"],
      write: ["path", "content"],
    });
  });
});
