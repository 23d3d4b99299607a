/** Which variables of a request reach a runner (runs §13). */

const SECRET_WORDS = ["secret", "token", "key", "password", "credential"];
const MAX_DEPTH = 64;

/** Keeps plain JSON under harmless names; everything else is dropped, its neighbours stay. */
export function filterParams(variables: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(variables).filter(
      ([name, value]) => isHarmlessName(name) && isPlainJson(value, MAX_DEPTH),
    ),
  );
}

function isHarmlessName(name: string): boolean {
  const lower = name.toLowerCase();
  return !name.startsWith("_") && !SECRET_WORDS.some((word) => lower.includes(word));
}

function isPlainJson(value: unknown, depth: number): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || depth === 0) return false;
  if (Array.isArray(value)) return value.every((item) => isPlainJson(item, depth - 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.values(value).every((item) => isPlainJson(item, depth - 1));
}
