/** What an idle box costs outside of its commands: the helper, the first process and the engine's shim. */
import { readFileSync } from "node:fs";
import type Docker from "dockerode";

export interface BoxMemory {
  readonly helperKib: number;
  readonly holderKib: number;
  readonly shimKib: number;
}

/** NaN where the engine is not on this machine. */
export async function readMemoryKib(docker: Docker, container: string): Promise<BoxMemory> {
  const { State: state } = await docker.getContainer(container).inspect();
  const top: unknown = await docker.getContainer(container).top({ ps_args: "-eo pid,args" });
  const rows = readRows(top);
  const find = (words: string): number => Number(rows.find(([, args]) => args?.includes(words))?.[0]);
  return {
    helperKib: residentKib(find("boxd serve")),
    holderKib: residentKib(find("boxd hold")),
    shimKib: residentKib(parentOf(state.Pid)),
  };
}

function readRows(top: unknown): readonly (readonly string[])[] {
  if (typeof top !== "object" || top === null || !("Processes" in top) || !Array.isArray(top.Processes))
    return [];
  return top.Processes.filter((row): row is string[] => Array.isArray(row));
}

function residentKib(pid: number): number {
  return readStatus(pid, "VmRSS");
}

function parentOf(pid: number): number {
  return readStatus(pid, "PPid");
}

function readStatus(pid: number, field: string): number {
  try {
    const text = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(new RegExp(`^${field}:\\s+(\\d+)`, "mu").exec(text)?.[1]);
  } catch {
    return Number.NaN;
  }
}
