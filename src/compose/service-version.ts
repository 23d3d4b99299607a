/** Version of the service, from its package. */
import { readFileSync } from "node:fs";
import { z } from "zod";

const packageSchema = z.object({ version: z.string() });

export function readServiceVersion(): string {
  const file = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return packageSchema.parse(JSON.parse(file)).version;
}
