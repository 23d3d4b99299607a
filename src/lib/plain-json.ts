/** Whether a value is JSON as it stands: no class, no function, no number that JSON does not know, at any depth. */

export function isPlainJson(value: unknown, maxDepth: number): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || maxDepth === 0) return false;
  if (Array.isArray(value)) return value.every((item) => isPlainJson(item, maxDepth - 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.values(value).every((item) => isPlainJson(item, maxDepth - 1));
}
