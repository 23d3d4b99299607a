/** The check that comes before everything else, so that an old Node gets a sentence and not a syntax error. */
import { readFileSync } from "node:fs";
import { EXIT, Failure } from "./failure.mjs";

/** Works in the root of the repository; the wanted version is the one of package.json. */
export function requireNode() {
  const [, major = "0", minor = "0"] =
    /"node":\s*">=(\d+)\.(\d+)/.exec(readFileSync("package.json", "utf8")) ?? [];
  const [hasMajor = 0, hasMinor = 0] = process.versions.node.split(".").map(Number);
  if (hasMajor > Number(major) || (hasMajor === Number(major) && hasMinor >= Number(minor))) return;
  const hint = `Next step: install Node ${major} (https://nodejs.org), for example by: nvm install ${major}`;
  throw new Failure(`Berth needs Node ${major}.${minor} or later; this is ${process.versions.node}.`, {
    hint,
    exitCode: EXIT.unavailable,
  });
}
