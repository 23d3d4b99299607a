import { Duplex } from "node:stream";
import { describe, expect, it } from "vitest";
import { FROM_WORKER, TO_WORKER } from "../../../../src/adapters/docker/frame-codec.js";
import { StreamWorkerLink } from "../../../../src/adapters/docker/worker-link.js";
import { decodeSent, encode, engineBytes, frame } from "./scripted-link.js";

/** The service's end of an exec stream; the test plays the engine. */
class ExecStream extends Duplex {
  readonly written: Buffer[] = [];
  /** Held back until the test lets go. */
  isBlocked = false;
  #release: (() => void) | null = null;

  constructor() {
    super({ highWaterMark: 100 });
  }

  override _read(): void {
    // The test pushes.
  }

  override _write(piece: Buffer, _encoding: string, done: () => void): void {
    this.written.push(piece);
    if (this.isBlocked) this.#release = done;
    else done();
  }

  unblock(): void {
    this.isBlocked = false;
    this.#release?.();
  }
}

describe("StreamWorkerLink", () => {
  it("reads frames through the engine's own frames, wherever both are cut", async () => {
    const stream = new ExecStream();
    using link = new StreamWorkerLink("exec-1", stream);
    const frames = [frame("stdout", 0, Buffer.from("a".repeat(50))), frame("done")];
    const inner = Buffer.concat(frames.map(encode));
    const outer = engineBytes(1, inner.subarray(0, 5), inner.subarray(5, 30), inner.subarray(30));
    for (let at = 0; at < outer.length; at += 7) stream.push(outer.subarray(at, at + 7));
    stream.push(null);
    expect((await link.next())?.type).toBe(FROM_WORKER.stdout);
    expect((await link.next())?.type).toBe(FROM_WORKER.done);
    expect(await link.next()).toBeNull();
    expect(link.execId).toBe("exec-1");
  });

  it("keeps the first 4 KiB of what the worker says about itself", async () => {
    const stream = new ExecStream();
    using link = new StreamWorkerLink("exec-1", stream);
    stream.push(engineBytes(2, Buffer.from("Traceback "), Buffer.alloc(10_000, "x")));
    stream.push(engineBytes(1, encode(frame("done"))));
    await link.next();
    expect(link.diagnostics).toHaveLength(4096);
    expect(link.diagnostics).toMatch(/^Traceback x/);
  });

  it("refuses what is no frame", async () => {
    const stream = new ExecStream();
    using link = new StreamWorkerLink("exec-1", stream);
    stream.push(engineBytes(1, Buffer.from("OCI runtime exec failed: exec failed")));
    await expect(link.next()).rejects.toMatchObject({ code: "box.engine_unavailable" });
  });

  it("sends frames and waits while the stream wants no more", async () => {
    const stream = new ExecStream();
    using link = new StreamWorkerLink("exec-1", stream);
    stream.isBlocked = true;
    let isSent = false;
    const sent = link.send(TO_WORKER.data, 3, Buffer.alloc(200, "y")).then(() => {
      isSent = true;
      return isSent;
    });
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    expect(isSent).toBe(false);
    stream.unblock();
    expect(await sent).toBe(true);
    await link.send(TO_WORKER.end, 3);
    expect(decodeSent(Buffer.concat(stream.written))).toMatchObject([
      { type: TO_WORKER.data, index: 3 },
      { type: TO_WORKER.end, index: 3, text: "" },
    ]);
  });

  it("fails to send when the stream is gone, before and while it waits", async () => {
    const stream = new ExecStream();
    const link = new StreamWorkerLink("exec-1", stream);
    stream.isBlocked = true;
    const sent = link.send(TO_WORKER.data, 0, Buffer.alloc(200));
    link[Symbol.dispose]();
    await expect(sent).rejects.toThrow(/closed/);
    await expect(link.send(TO_WORKER.end, 0)).rejects.toThrow(/closed/);
  });

  it("survives an error of the stream, and tells it to whoever reads", async () => {
    const stream = new ExecStream();
    using link = new StreamWorkerLink("exec-1", stream);
    stream.destroy(new Error("ECONNRESET"));
    await expect(link.next()).rejects.toThrow("ECONNRESET");
  });
});
