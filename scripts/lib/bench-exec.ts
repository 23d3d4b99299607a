/** A command in a container by the engine's API alone: what there is without a helper. */
import type Docker from "dockerode";

/** @returns how many bytes came out, the engine's framing included */
export async function engineExec(
  container: Docker.Container,
  argv: readonly string[],
  uid: number,
): Promise<number> {
  const exec = await container.exec({
    Cmd: [...argv],
    User: `${uid}:${uid}`,
    AttachStdout: true,
    AttachStderr: true,
  });
  const stream = await exec.start({ hijack: true });
  let sizeBytes = 0;
  for await (const piece of stream) sizeBytes += Buffer.isBuffer(piece) ? piece.length : 0;
  return sizeBytes;
}
