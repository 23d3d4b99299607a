import { describe, expect, it } from "vitest";
import { z } from "zod";
import { nativeTools } from "../../../src/tools/native/index.js";
import { offerNativeTools } from "../../../src/tools/tool-catalog.js";

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
      ["native", "edit", { kind: "box.files", access: "write", pathFields: ["path"] }],
      ["native", "exec", { kind: "box.exec" }],
      ["native", "export_box_files", { kind: "box.export", pathFields: ["paths"] }],
      ["native", "glob", { kind: "box.search", pathFields: ["path"] }],
      ["native", "grep", { kind: "box.search", pathFields: ["path"] }],
      ["native", "job", { kind: "box.exec" }],
      ["native", "read", { kind: "box.files", access: "read", pathFields: ["path"] }],
      ["native", "write", { kind: "box.files", access: "write", pathFields: ["path"] }],
    ]);
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
