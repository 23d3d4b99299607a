/** docs/errors.md: people write when a code comes and what to do; status and retry are kept equal to the table in code. */
import { ERROR_CODES } from "../../src/domain/errors.js";

const ROW = /^\| `([a-z_.]+)` \| ([^|]*) \| ([^|]*) \| (.*) \| (.*) \|$/;

/** The page with its rows in the order of the code's table: rows of unknown codes go, missing ones come without prose. */
export function refreshErrorsPage(page: string): string {
  const lines = page.trimEnd().split("\n");
  const prose = new Map(lines.flatMap((line) => readRow(line)));
  const first = lines.findIndex((line) => ROW.test(line));
  const head = first === -1 ? lines : lines.slice(0, first);
  const rows = Object.entries(ERROR_CODES).map(([code, { status, retryable }]) => {
    const { when, remedy } = prose.get(code) ?? { when: "", remedy: "" };
    return `| \`${code}\` | ${status} | ${retryable ? "yes" : "no"} | ${when} | ${remedy} |`;
  });
  return `${[...head, ...rows].join("\n")}\n`;
}

/** Codes whose prose is still missing. */
export function codesWithoutProse(page: string): string[] {
  const written = new Map(page.split("\n").flatMap((line) => readRow(line)));
  return Object.keys(ERROR_CODES).filter((code) => (written.get(code)?.when ?? "") === "");
}

function readRow(line: string): [string, { when: string; remedy: string }][] {
  const [, code, , , when, remedy] = ROW.exec(line) ?? [];
  if (code === undefined || when === undefined || remedy === undefined) return [];
  return [[code, { when: when.trim(), remedy: remedy.trim() }]];
}
