/** The tools that the service offers itself. */
import type { NativeTool } from "../../ports/tool.js";
import { editTool } from "./edit.js";
import { createExecTool, type ExecToolOptions } from "./exec.js";
import { exportBoxFilesTool } from "./export-box-files.js";
import { globTool } from "./glob.js";
import { createGrepTool } from "./grep.js";
import { createJobTool } from "./job.js";
import { readTool } from "./read.js";
import { writeTool } from "./write.js";

/** All native tools, by name in order. */
export function nativeTools(options: ExecToolOptions): readonly NativeTool[] {
  return [
    editTool,
    createExecTool(options),
    exportBoxFilesTool,
    globTool,
    createGrepTool(),
    createJobTool(options),
    readTool,
    writeTool,
  ];
}
