/** What the helper is asked, as payloads. Pure. Paths go as text below the workspace, so that none can begin elsewhere. */
import type { CommandPlan } from "../../domain/command-plan.js";
import { toTarget } from "../../domain/workspace-target.js";
import type { ListRequest, ReadRequest, TerminalSize, WriteRequest } from "../../ports/box-handle.js";
import { FieldWriter } from "./fields.js";
import { MAX_REQUEST_BYTES, SPAWN_INPUT, SPAWN_TERMINAL } from "./protocol.js";

/** Bytes that the helper may have on its way to one request, or to one stream of a command, headers included. */
export const WINDOW_BYTES = 512 * 1024;
const DEFAULT_FILE_MODE = 0o644;
const MAX_DEPTH = 65_535;
const MAX_COUNT = 0xff_ff_ff_ff;
/** What a request has besides its items. */
const HEAD_BYTES = 1024;

export interface RemoveTarget {
  readonly path: string;
  readonly version?: string | undefined;
  readonly recursive?: boolean | undefined;
}

/** A path that is none becomes one that the helper refuses with the same word. */
export function toWirePath(path: string): string {
  const target = toTarget(path);
  if ("parts" in target) return target.parts.join("/");
  return target.fault === "escapes" ? ".." : ".";
}

export function pathItem(path: string): FieldWriter {
  return new FieldWriter().text(toWirePath(path));
}

export function readItem({ path, offset, length, version }: ReadRequest): FieldWriter {
  return pathItem(path)
    .u64(offset)
    .u64(length)
    .text(version ?? "");
}

const WRITE_MODES = { create: 0, overwrite: 1, append: 2 } as const;

export function writeItem({ path, mode, sizeBytes, version, fileMode }: WriteRequest): FieldWriter {
  return pathItem(path)
    .u8(WRITE_MODES[mode])
    .u64(sizeBytes)
    .text(mode === "overwrite" ? (version ?? "") : "")
    .u16((fileMode ?? DEFAULT_FILE_MODE) & 0o777);
}

export function removeItem({ path, version, recursive }: RemoveTarget): FieldWriter {
  return pathItem(path)
    .text(version ?? "")
    .u8(recursive === true ? 1 : 0);
}

/** A request about several items. */
export function askAll(items: readonly FieldWriter[]): Buffer {
  const body = new FieldWriter().u32(WINDOW_BYTES).u32(items.length);
  for (const item of items) body.all(item);
  return body.finish();
}

export function askList({ path, depth, maxEntries, skip }: ListRequest): Buffer {
  return new FieldWriter()
    .u32(WINDOW_BYTES)
    .text(toWirePath(path))
    .u16(Math.min(depth, MAX_DEPTH))
    .u32(Math.min(maxEntries, MAX_COUNT))
    .texts(skip)
    .finish();
}

/** How a command is begun. */
export interface SpawnFacts {
  /** After which the helper stops the command by itself; 0 = never. */
  readonly timeoutMs: number;
  /** Null = empty. */
  readonly input: "stream" | TerminalSize | null;
}

export function askSpawn({ argv, env, parts }: CommandPlan, { timeoutMs, input }: SpawnFacts): Buffer {
  const terminal = input === "stream" ? null : input;
  return new FieldWriter()
    .u32(WINDOW_BYTES)
    .texts(argv)
    .texts(Object.entries(env).map(([name, value]) => `${name}=${value}`))
    .text(parts.join("/"))
    .u8(spawnFlags(input))
    .u16(terminal?.rows ?? 0)
    .u16(terminal?.columns ?? 0)
    .u64(Math.round(timeoutMs))
    .u32(0)
    .finish();
}

function spawnFlags(input: SpawnFacts["input"]): number {
  if (input === null) return 0;
  return input === "stream" ? SPAWN_INPUT : SPAWN_INPUT | SPAWN_TERMINAL;
}

/** Cuts a selection into as few requests as the protocol's limit allows. */
export function partition(items: readonly FieldWriter[]): readonly (readonly FieldWriter[])[] {
  const groups: FieldWriter[][] = [];
  let left = 0;
  for (const item of items) {
    if (item.sizeBytes > left) {
      groups.push([]);
      left = MAX_REQUEST_BYTES - HEAD_BYTES;
    }
    groups.at(-1)?.push(item);
    left -= item.sizeBytes;
  }
  return groups;
}
