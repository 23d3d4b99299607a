/**
 * Where tools of a run come from: the service itself, packages of others, MCP servers, skills. Each source stands behind
 * this one interface, and a call goes to the source that is frozen with the tool (runs §15.2, §15.5).
 * - `list` costs little when it is asked again; a source that fails or hangs costs its own tools and a warning.
 * - `run` never throws for a failure of the tool: that is an outcome. It throws ServiceError for lost engines and aborts.
 */
import type { SessionId } from "../domain/ids.js";
import type { RunWarning } from "../domain/result.js";
import type { ToolResource } from "../domain/tool.js";
import type { BoxHandle } from "./box-handle.js";
import type { CallOptions } from "./options.js";
import type { ToolBox, ToolEvent } from "./tool.js";

/** A box that somebody keeps awake, until it is disposed of. */
export interface HeldBox extends AsyncDisposable {
  readonly handle: BoxHandle;
}

/** The box of a run's session, for tools that live in it. */
export interface SessionBox {
  readonly sessionId: SessionId;
  /** Makes it run and keeps it, past the run that asked; `handle` is one of its own. @throws ServiceError `box.*`, `session.not_found` */
  hold(options: CallOptions): Promise<HeldBox>;
}

/** The bound box of a run as a source may use it. */
export interface RunToolBox extends ToolBox, SessionBox {
  /** `release` is awaited when the run lets its box go, before anything else of it ends. */
  onRelease(release: () => Promise<void>): void;
}

export interface WantedSource {
  readonly source: string;
  readonly source_id: string | null;
}

/** For whom tools are listed. */
export interface ToolScope {
  readonly tenant: string;
  /** Packages that the bot may use (runs §3.4); null = every one. */
  readonly allowedPackages: readonly string[] | null;
  /** Whether any tool of that source can come into question; what cannot is not asked. Id null = any under the name. */
  readonly wants: (ref: WantedSource) => boolean;
  /** Null for a run without a session, and before there is a run. */
  readonly box: SessionBox | null;
}

export interface ToolListing {
  readonly tools: readonly ToolResource[];
  /** What was left out, and why. */
  readonly warnings: readonly RunWarning[];
}

export interface SourcedCall {
  readonly id: string;
  /** As it is frozen with the run. */
  readonly resource: ToolResource;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface ToolSource {
  readonly source: "native" | "plugin" | "mcp" | "skill";
  /** Null = the source answers for every id under its name. */
  readonly sourceId: string | null;
  /** Names that are the source's own whether or not a run is offered them; empty for sources of others. */
  readonly reservedNames: readonly string[];
  list(scope: ToolScope, options: CallOptions): Promise<ToolListing>;
  /** @param box null while the run has bound none; tools with an effect on a box are not called then */
  run(call: SourcedCall, box: RunToolBox | null, options: CallOptions): AsyncIterable<ToolEvent>;
}
