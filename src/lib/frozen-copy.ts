/** A deep copy that nobody can change, the original least of all. For plain data. */

export function frozenCopy<Value>(value: Value): Value {
  return freeze(structuredClone(value));
}

function freeze<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  for (const item of Object.values(value)) freeze(item);
  return Object.freeze(value);
}
