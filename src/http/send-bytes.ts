/** Writes to a client as fast as it reads: nothing piles up in memory for a slow one (box §6.6, security §9). */
import type { Response } from "express";
import { ServiceError } from "../domain/errors.js";

/** Milliseconds a client may take nothing before it counts as gone. */
export const STALL_MS = 60_000;

/**
 * Resolves when the client can take more, at once when it is gone.
 * @throws ServiceError `request.timeout` when it takes nothing for `stallMs`; the connection is cut then
 */
export async function sendBytes(
  response: Response,
  bytes: string | Uint8Array,
  stallMs: number = STALL_MS,
): Promise<void> {
  if (response.destroyed || response.write(bytes)) return;
  await new Promise<void>((resolve, reject) => {
    const settle = (error: ServiceError | null): void => {
      clearTimeout(timer);
      response.off("drain", goOn).off("close", goOn);
      if (error === null) resolve();
      else reject(error);
    };
    const goOn = (): void => settle(null);
    const timer = setTimeout(() => {
      settle(new ServiceError("request.timeout", `The reader took nothing for ${stallMs / 1000} s.`));
      response.destroy();
    }, stallMs);
    response.once("drain", goOn).once("close", goOn);
  });
}
