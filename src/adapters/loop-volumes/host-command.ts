/** Runs a program of the host that makes or mounts file systems: fixed names, no shell, a time limit (box §6.4). */
import { execFile } from "node:child_process";
import { z } from "zod";
import { ServiceError } from "../../domain/errors.js";
import { abortReason } from "../../lib/abort-reason.js";
import type { CallOptions } from "../../ports/options.js";

const LIMIT_MS = 30_000;
const MAX_REASON_CHARS = 160;
const ENVIRONMENT = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };

const failureSchema = z.object({ code: z.union([z.string(), z.number()]).nullish() });

/** @throws ServiceError `box.readiness` with what the program said, without paths */
export async function runHostCommand(
  program: string,
  args: readonly string[],
  { signal }: CallOptions,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env: ENVIRONMENT, timeout: LIMIT_MS, signal };
    execFile(program, [...args], options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else if (signal.aborted) reject(abortReason(signal));
      else reject(describeFailure(program, error, stderr));
    });
  });
}

function describeFailure(program: string, error: unknown, stderr: string): ServiceError {
  const { code } = failureSchema.catch({}).parse(error);
  if (code === "ENOENT")
    return new ServiceError("box.readiness", `The program ${program} is not on this machine.`);
  const line = stderr.split("\n").find((text) => text.trim() !== "") ?? "";
  const said = line.replace(/(?:\/[^\s:,'")]+)+/gu, "<path>").slice(0, MAX_REASON_CHARS);
  const reason = said === "" ? `it ended with ${code ?? "a signal"}` : said.trim();
  return new ServiceError("box.readiness", `The program ${program} failed: ${reason.replace(/\.$/u, "")}.`, {
    cause: error,
  });
}
