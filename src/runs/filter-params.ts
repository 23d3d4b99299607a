/** Which variables of a request reach a runner (runs §13). */
import { isPlainJson } from "../lib/plain-json.js";

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
