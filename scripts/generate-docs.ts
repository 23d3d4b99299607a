/** Writes the generated pages of docs/; with --check it only says which are not fresh. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { codesWithoutProse } from "./lib/errors-page.js";
import { generatedPages } from "./lib/generated-pages.js";

const isCheck = process.argv.includes("--check");
const complaints: string[] = [];

for (const [path, text] of generatedPages()) {
  const isFresh = existsSync(path) && readFileSync(path, "utf8") === text;
  if (!isFresh && isCheck) complaints.push(`${path} is not fresh: run npm run generate.`);
  if (!isFresh && !isCheck) writeFileSync(path, text);
}
for (const code of codesWithoutProse(readFileSync("docs/errors.md", "utf8"))) {
  complaints.push(`docs/errors.md does not say when ${code} comes.`);
}
for (const complaint of complaints) process.stderr.write(`${complaint}\n`);
process.exitCode = complaints.length === 0 ? 0 : 1;
