/** A directory of a test's own with a short path, removed at its end. */
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export async function withTempDir(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "berth-")));
  return { path, [Symbol.asyncDispose]: async () => rm(path, { recursive: true, force: true }) };
}
