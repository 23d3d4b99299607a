import { once } from "node:events";
import { stat } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DialIn } from "../../../../src/adapters/docker/dial-in.js";
import { withTempDir } from "../../../support/temp-dir.js";

const FOREVER = { signal: new AbortController().signal };
const TOKEN = "0123456789abcdef";

async function call(path: string, text: string): Promise<Socket> {
  const socket = connect(path);
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.write(text);
  return socket;
}

describe("DialIn", () => {
  it("hands over the connection that shows the token, from after the token on", async () => {
    await using place = await withTempDir();
    const path = join(place.path, "s");
    await using dialIn = await DialIn.listen(path, TOKEN);
    const accepted = dialIn.accept(FOREVER);
    const caller = await call(path, TOKEN.slice(0, 5));
    caller.write(`${TOKEN.slice(5)}and more`);
    const socket = await accepted;
    const said: unknown[] = await once(socket, "data");
    expect(String(said[0])).toBe("and more");
    caller.destroy();
    socket.destroy();
  });

  it("drops who shows another token, and still takes the right one", async () => {
    await using place = await withTempDir();
    const path = join(place.path, "s");
    await using dialIn = await DialIn.listen(path, TOKEN);
    const accepted = dialIn.accept(FOREVER);
    const stranger = await call(path, "f".repeat(TOKEN.length));
    await once(stranger, "close");
    const caller = await call(path, TOKEN);
    const socket = await accepted;
    expect(stranger.destroyed && !socket.destroyed).toBe(true);
    caller.destroy();
    socket.destroy();
  });

  it("keeps few callers without a token, and lets go of them when it ends", async () => {
    await using place = await withTempDir();
    const path = join(place.path, "s");
    const callers: Socket[] = [];
    {
      await using _dialIn = await DialIn.listen(path, TOKEN);
      while (callers.length < 4) callers.push(await call(path, "0"));
      const fifth = connect(path);
      fifth.on("error", () => undefined);
      await once(fifth, "close");
      expect(callers.filter(({ destroyed }) => destroyed)).toEqual([]);
    }
    await Promise.all(callers.map(async (caller) => caller.destroyed || once(caller, "close")));
    await expect(stat(path)).rejects.toThrow("ENOENT");
  });

  it("gives up with its caller, and takes the place of a socket that a dead service left", async () => {
    await using place = await withTempDir();
    const path = join(place.path, "s");
    await using _first = await DialIn.listen(path, TOKEN);
    await using second = await DialIn.listen(path, TOKEN);
    await expect(second.accept({ signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
    const controller = new AbortController();
    const waiting = second.accept(controller);
    controller.abort(new Error("later"));
    await expect(waiting).rejects.toThrow("later");
    expect((await stat(path)).mode & 0o777).toBe(0o666);
  });
});
