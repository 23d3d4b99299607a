import { REQUIREMENTS } from "../spec/requirements.js";

const KNOWN = new Set(REQUIREMENTS.map((requirement) => requirement.id));

/** Says which acceptance case the running test proves; `test/spec/gate.test.ts` collects these calls. */
export function proves(...ids: readonly string[]): void {
  for (const id of ids) if (!KNOWN.has(id)) throw new Error(`${id} is not in test/spec/requirements.ts.`);
}
