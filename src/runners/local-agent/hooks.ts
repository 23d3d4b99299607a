/** Places in the loop where the composition may look in; a hook that throws ends the run (local-agent §6.8). */
import type { Reply } from "./accumulate-stream.js";
import type { JsonObject } from "./parse-arguments.js";

export interface AgentHooks {
  /** After each reply of a model. Throwing is `runner.error`. */
  afterModel?(reply: Reply): void | Promise<void>;
  /** Before each tool call that runs. Throwing is `runner.tool_error`. */
  beforeTool?(call: {
    readonly id: string;
    readonly name: string;
    readonly parameters: JsonObject;
  }): void | Promise<void>;
  /** After a batch, before the next model call. Throwing is `runner.tool_error`. */
  nextTurn?(): void | Promise<void>;
}
