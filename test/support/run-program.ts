/** Runs a program of the machine to its end. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** @returns what it wrote to stdout. @throws when it ends with another code than 0 */
export async function run(program: string, args: readonly string[]): Promise<string> {
  return (await execute(program, [...args])).stdout;
}
