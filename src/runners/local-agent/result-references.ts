/** Finds the files and addresses that a tool result names explicitly (local-agent §9.4). Pure. */
import { isObject, type JsonObject } from "./parse-arguments.js";

export type FileReference = Readonly<Record<string, string | number>>;

/** Keys whose values may hold references. */
const CONTAINERS = ["file_refs", "files", "attachments", "items", "result"] as const;
/** One of these makes an object a reference. */
const PLACES = ["path", "url", "reference"] as const;
const FACTS = [...PLACES, "file_id", "name", "type", "mime_type", "size"] as const;
const MAX_DEPTH = 6;
const MAX_FOUND = 20;
const MAX_CHARS = 512;

/**
 * @param options `includeRoot`: the result itself may be a reference. A small result shows its own path anyway, so it
 * counts only where the result is cut.
 */
export function findReferences(
  value: unknown,
  { includeRoot }: { readonly includeRoot: boolean },
): readonly FileReference[] {
  const found: FileReference[] = [];
  if (includeRoot && isObject(value)) add(found, value);
  collect(value, { depth: 1, found });
  return found;
}

function collect(value: unknown, { depth, found }: { depth: number; found: FileReference[] }): void {
  if (depth > MAX_DEPTH || !isObject(value)) return;
  for (const key of CONTAINERS) {
    const held = value[key];
    for (const item of Array.isArray(held) ? held : [held]) {
      if (typeof item === "string" && key === "file_refs") push(found, { path: item.slice(0, MAX_CHARS) });
      if (!isObject(item)) continue;
      add(found, item);
      collect(item, { depth: depth + 1, found });
    }
  }
}

function add(found: FileReference[], item: JsonObject): void {
  if (!PLACES.some((key) => typeof item[key] === "string" && item[key] !== "")) return;
  const facts = FACTS.flatMap((key): [string, string | number][] => {
    const fact = item[key];
    if (typeof fact === "string") return [[key, fact.slice(0, MAX_CHARS)]];
    return typeof fact === "number" ? [[key, fact]] : [];
  });
  push(found, Object.fromEntries(facts));
}

function push(found: FileReference[], reference: FileReference): void {
  if (found.length < MAX_FOUND) found.push(reference);
}
