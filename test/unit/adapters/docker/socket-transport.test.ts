import { once } from "node:events";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { type Duplex, PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { type DialPlan, SocketTransport } from "../../../../src/adapters/docker/socket-transport.js";
import { ServiceError } from "../../../../src/domain/errors.js";
import { CountingIds } from "../../../fakes/counting-ids.js";
import { KeptLogger } from "../../../fakes/kept-logger.js";
import { withTempDir } from "../../../support/temp-dir.js";

const FOREVER = { signal: new AbortController().signal };

const noContainers = async (): Promise<readonly string[]> => Promise.resolve([]);
const notRunning = async (): Promise<Duplex> =>
  Promise.reject(new ServiceError("box.readiness", "The box does not run."));

function transportBelow(path: string) {
  const logger = new KeptLogger();
  const directory = join(path, "run");
  const transport = new SocketTransport({
    directory,
    ids: new CountingIds(),
    logger,
    listContainers: noContainers,
  });
  return { transport, logger, directory };
}

/** Dials in as the helper does. */
async function dialIn({ place, token }: DialPlan): Promise<Socket> {
  const socket = connect(place.socketPath);
  await once(socket, "connect");
  socket.write(token);
  return socket;
}

const obedient = async (plan: DialPlan): Promise<number> => {
  const socket = await dialIn(plan);
  socket.resume();
  await once(socket, "close");
  return 0;
};

/** What the engine shows of an exec that complains. */
function complaint(text: string): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt8(2, 0);
  header.writeUInt32BE(text.length, 4);
  return Buffer.concat([header, Buffer.from(text)]);
}

/** A helper that complains and dials in. */
function aHelper() {
  const exec = new PassThrough();
  const dialled: Socket[] = [];
  const start = async (plan: DialPlan): Promise<Duplex> => {
    exec.write(complaint("so so"));
    dialled.push(await dialIn(plan));
    return exec;
  };
  return { dialled, exec, start };
}

function opened<Opened>(channel: Opened | null | undefined): Opened {
  if (channel === null || channel === undefined) throw new Error("Nobody dialled in.");
  return channel;
}

describe("SocketTransport", () => {
  it("is proven by a program that dials in, and clears away what boxes that are gone have left", async () => {
    await using temp = await withTempDir();
    const { transport, directory } = transportBelow(temp.path);
    await mkdir(join(directory, "old"), { recursive: true });
    expect([transport.isProven, await transport.make("box")]).toEqual([null, null]);
    expect(await transport.prove(obedient, FOREVER)).toBe(true);
    expect([transport.isProven, await readdir(directory)]).toEqual([true, []]);
    const place = await transport.make("box");
    expect(await readdir(directory)).toEqual([place?.name]);
    expect(await transport.serves("box", place?.name)).toBe(true);
    expect(await transport.serves("box", undefined)).toBe(false);
    await transport.remove("box");
    expect(await readdir(directory)).toEqual([]);
  });

  it.each([
    ["does not dial", async () => Promise.resolve(0)],
    ["fails", async (plan: DialPlan) => obedient(plan).then(() => 1)],
    ["cannot be made", async () => Promise.reject(new Error("no such mount"))],
  ])("is not in force where the program %s, and says so once", async (_what, run) => {
    await using temp = await withTempDir();
    const setting = transportBelow(temp.path);
    expect(await setting.transport.prove(run, FOREVER)).toBe(false);
    expect([setting.transport.isProven, await setting.transport.make("box")]).toEqual([false, null]);
    expect(setting.logger.lines.filter(({ level }) => level === "info")).toHaveLength(1);
  });

  it("is not in force where its directory cannot be made", async () => {
    await using temp = await withTempDir();
    const setting = transportBelow(temp.path);
    await writeFile(setting.directory, "");
    expect(await setting.transport.prove(obedient, FOREVER)).toBe(false);
    expect(await setting.transport.serves("box", "0".repeat(24))).toBe(false);
  });

  it("gives a channel to the helper that dials in with its token, and listens no longer", async () => {
    await using temp = await withTempDir();
    const { transport, directory } = transportBelow(temp.path);
    const { dialled, exec, start } = aHelper();
    await using channel = opened(await transport.dial("box", start, FOREVER));
    await channel.write(Buffer.from("ping"), FOREVER);
    const helper = opened(dialled[0]);
    const heard: unknown[] = await once(helper, "data");
    helper.end("pong");
    const said: string[] = [];
    for await (const bytes of channel.bytes) said.push(Buffer.from(bytes).toString());
    expect([String(heard[0]), said.join(""), channel.hasEnded]).toEqual(["ping", "pong", true]);
    const [name = ""] = await readdir(directory);
    expect(await readdir(join(directory, name))).toEqual([]);
    expect([channel.diagnostics, exec.destroyed]).toEqual(["so so", false]);
    await channel.close();
    await expect(channel.write(Buffer.from("x"), FOREVER)).rejects.toThrow("has ended");
    expect(exec.destroyed).toBe(true);
  });

  it("gives none when the helper ends before it has dialled in", async () => {
    await using temp = await withTempDir();
    const setting = transportBelow(temp.path);
    const exec = new PassThrough();
    exec.end(complaint("boxd: /run/berth/s: No such file or directory"));
    expect(await setting.transport.dial("box", async () => Promise.resolve(exec), FOREVER)).toBeNull();
    expect(setting.logger.lines.map(({ level }) => level)).toEqual(["warn"]);
  });

  it("says that the box does not run, and gives up with its caller", async () => {
    await using temp = await withTempDir();
    const setting = transportBelow(temp.path);
    await expect(setting.transport.dial("box", notRunning, FOREVER)).rejects.toMatchObject({
      code: "box.readiness",
    });
    const controller = new AbortController();
    const leaving = setting.transport.dial(
      "box",
      async () => {
        controller.abort(new Error("enough"));
        return Promise.resolve(new PassThrough());
      },
      controller,
    );
    await expect(leaving).rejects.toThrow("enough");
  });
});
