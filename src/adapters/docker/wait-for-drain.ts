/** Waits until a stream takes more. */
import type { Duplex } from "node:stream";
import { abortReason } from "../../lib/abort-reason.js";

/** @throws an error when the stream closes, the abort's reason when the signal aborts */
export async function waitForDrain(stream: Duplex, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const settle = (act: () => void) => (): void => {
      stream.off("drain", onDrain);
      stream.off("close", onClose);
      signal?.removeEventListener("abort", onAbort);
      act();
    };
    const onDrain = settle(resolve);
    const onClose = settle(() => reject(new Error("The stream to the box was closed.")));
    const onAbort = settle(() => {
      if (signal !== undefined) reject(abortReason(signal));
    });
    stream.on("drain", onDrain);
    stream.on("close", onClose);
    signal?.addEventListener("abort", onAbort, { once: true });
    if (stream.destroyed) onClose();
  });
}
