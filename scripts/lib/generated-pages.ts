/** Every generated file of docs/, by path from the repository's root. */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { createOpenApiDocument } from "../../src/http/openapi.js";
import { refreshErrorsPage } from "./errors-page.js";
import { settingsPage } from "./settings-page.js";

const ERRORS_PAGE = "docs/errors.md";

export function generatedPages(): ReadonlyMap<string, string> {
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync("package.json", "utf8")));
  return new Map([
    ["docs/settings.md", settingsPage()],
    [ERRORS_PAGE, refreshErrorsPage(readFileSync(ERRORS_PAGE, "utf8"))],
    ["docs/openapi.json", `${JSON.stringify(createOpenApiDocument(version), null, 2)}\n`],
  ]);
}
