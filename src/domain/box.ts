/** What a box is to the rest of the service: its settings, its files, its commands, its status (box §3, §10, §12). */
import { z } from "zod";

export const WORKSPACE_ROOT = "/workspace";
export const BOX_HOME = "/workspace/.home";
export const TOOL_RESULTS_DIR = "/workspace/.tool-results";

export const boxStateSchema = z.enum(["none", "starting", "ready", "paused", "stopped", "lost"]);
export type BoxState = z.infer<typeof boxStateSchema>;

/** A place of the host that an operator puts into every box (box §10.4). */
export interface ExtraMount {
  /** Absolute path of a directory or file on the engine's host. */
  readonly source: string;
  /** Absolute path in the box. */
  readonly target: string;
  readonly readOnly: boolean;
}

/** Effective settings of a box: profile, operator's settings and locked fields already applied (box §10.2). */
export interface BoxSettings {
  readonly image: string;
  readonly cpus: number;
  readonly memoryMb: number;
  readonly pidsLimit: number;
  readonly readOnlyRootfs: boolean;
  /** Every box has nothing but its loopback; `broker`: what it says to a port there is carried on by the host's list (box §10.6). */
  readonly network: "none" | "broker";
  readonly workspaceMode: "rw" | "ro";
  /** Disk quota of the workspace in MiB; 0 = none. What enforces it is said in the status. */
  readonly workspaceQuotaMb: number;
  readonly execTimeoutSec: number;
  readonly execMaxTimeoutSec: number;
  /** Runtime of the engine that carries the box; null = the engine's own choice. */
  readonly runtime: string | null;
  readonly extraMounts: readonly ExtraMount[];
  /** Variables of every command, before the command's own. */
  readonly env: Readonly<Record<string, string>>;
}

export interface BoxStatus {
  readonly enabled: boolean;
  readonly available: boolean;
  /** Null means unknown, never none. */
  readonly limit: number | null;
  readonly used: number | null;
  readonly remaining: number | null;
  readonly required_reuse_key: string | null;
  readonly reason: string | null;
  /** What is really in force, by name (box §10). */
  readonly isolation: readonly string[];
  readonly quota: string;
  readonly export_paths: boolean;
}

export type FileKind = "file" | "directory" | "link" | "other";

/** An entry as the box reports it. The box may lie: sizes are re-counted by the host where they matter (security §7). */
export interface FileEntry {
  readonly path: string;
  readonly kind: FileKind;
  readonly sizeBytes: number;
  readonly linkCount: number;
  /** Permission bits. */
  readonly mode: number;
  /** Unix milliseconds. */
  readonly modifiedMs: number;
  /** Opaque; equal only while the same file has the same content (device, inode, size, times). */
  readonly version: string;
  readonly readable: boolean;
}

/** Why a path of the box has no entry. */
export const PATH_FAULTS = [
  "not_found",
  "symlink_component",
  "not_directory",
  "escapes",
  "unreadable",
  "bad_path",
] as const;
export type PathFault = (typeof PATH_FAULTS)[number];

/** Why work on a file did not happen. */
export const FILE_FAULTS = [
  ...PATH_FAULTS,
  "not_regular",
  "changed",
  "exists",
  "no_space",
  "denied",
] as const;
export type FileFault = (typeof FILE_FAULTS)[number];

export type StatAnswer =
  | { readonly path: string; readonly entry: FileEntry }
  | { readonly path: string; readonly fault: PathFault };

export type ExecStatus = "completed" | "timed_out" | "cancelled" | "killed";

/** How a command ended (box §12.4, security §6.2). */
export interface ExecExit {
  readonly status: ExecStatus;
  /** Null unless completed. */
  readonly exitCode: number | null;
  readonly durationMs: number;
  /** Processes the command left behind; they are stopped when the run ends (box §12.2). */
  readonly leftovers: number;
  /** Limits that struck and what else the model must know, one sentence each. */
  readonly notes: readonly string[];
}
