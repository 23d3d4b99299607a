import { afterEach, describe, expect, it, vi } from "vitest";
import { BoxdHelper } from "../../../../src/adapters/boxd/boxd-helper.js";
import { ASK, HEAR, SAY } from "../../../../src/adapters/boxd/protocol.js";
import type { ExecExit } from "../../../../src/domain/box.js";
import { ServiceError } from "../../../../src/domain/errors.js";
import { WOKEN_NOTE } from "../../../../src/domain/exec-outcome.js";
import type { BoxHandle, ExecEvent, ExecRequest, SpawnRequest } from "../../../../src/ports/box-handle.js";
import type { Clearing, HelperGround } from "../../../../src/ports/box-helper.js";
import { FakeClock } from "../../../fakes/fake-clock.js";
import { KeptLogger } from "../../../fakes/kept-logger.js";
import { exitPayload, ScriptedChannel } from "./scripted-channel.js";

const FOREVER = { signal: new AbortController().signal };
const COMMAND: ExecRequest = { argv: ["true"], workdir: "/workspace", env: {}, timeoutMs: 5000 };
const PROCESS: SpawnRequest = { argv: ["cat"], workdir: "/workspace", env: {}, terminal: null };
const STARTED = Buffer.alloc(28);

type Script = (channel: ScriptedChannel) => void;

/** A box whose helpers do, one after the other, what the scripts say; the last one again and again. */
class ScriptedGround implements HelperGround {
  readonly container = "box";
  readonly limits = { memoryMb: 256, pids: 128, quotaMib: 0 };
  readonly did: string[] = [];
  readonly channels: ScriptedChannel[] = [];
  clearing: Clearing | null = { rung: 2, counters: null };
  /** Whether it stands still; null = nobody can tell. */
  wakes: boolean | null = false;
  /** Whether it has stopped its helper; null = nobody can tell. */
  stopped: boolean | null = false;
  onWoken: () => void = () => undefined;
  readonly #scripts: Script[];

  constructor(...scripts: Script[]) {
    this.#scripts = scripts;
  }

  async openChannel(): Promise<ScriptedChannel> {
    this.did.push("open");
    const channel = new ScriptedChannel();
    const script = this.#scripts.length > 1 ? this.#scripts.shift() : this.#scripts[0];
    script?.(channel);
    this.channels.push(channel);
    return Promise.resolve(channel);
  }

  async wake(): Promise<boolean> {
    this.did.push("wake");
    if (this.wakes === null) throw new ServiceError("box.engine_unavailable", "It does not answer.");
    if (this.wakes) this.onWoken();
    return Promise.resolve(this.wakes);
  }

  async isStopped(): Promise<boolean> {
    this.did.push("look");
    return this.stopped === null ? Promise.reject(new Error("nobody knows")) : Promise.resolve(this.stopped);
  }

  async clear(): Promise<Clearing | null> {
    this.did.push("clear");
    return Promise.resolve(this.clearing);
  }

  async restart(): Promise<Clearing | null> {
    this.did.push("restart");
    return Promise.resolve({ rung: 3, counters: null });
  }
}

/** No room for another process. */
const BUSY = Buffer.concat([Buffer.alloc(4), Buffer.of(4, 0, 0, 0), Buffer.from("busy")]);

const honest: Script = (channel) => {
  channel.hello();
  channel.onAsked = ({ type, id }) => {
    if (type !== ASK.spawn) return;
    channel.say(HEAR.started, id, STARTED);
    channel.say(HEAR.exit, id, exitPayload({ value: 3 }));
    channel.say(HEAR.done, id, Buffer.of(0));
  };
};
const still: Script = (channel) => {
  channel.hello();
  channel.onAsked = ({ type, id }) => {
    if (type === ASK.spawn) channel.say(HEAR.started, id, STARTED);
  };
};
const dying: Script = (channel) => {
  channel.hello();
  channel.onAsked = ({ type }) => {
    if (type === ASK.spawn) channel.end();
  };
};
const lying: Script = (channel) => {
  channel.hello();
  channel.onAsked = ({ type, id }) => {
    if (type === ASK.spawn) channel.say(HEAR.done, id, Buffer.of(0));
  };
};
const garbage: Script = (channel) => channel.push(Buffer.from("OCI runtime exec failed"));
const leaving: Script = (channel) => {
  channel.hello();
  channel.onAsked = ({ type, id }) => {
    if (type === ASK.spawn) channel.say(HEAR.exit, id, exitPayload({ leftovers: 1 }));
    if (type === SAY.kill) channel.say(HEAR.done, id, Buffer.of(0));
  };
};

/** The first command leaves something; no other starts until that was killed, or ever. */
const filling =
  (isFullForEver: boolean): Script =>
  (channel) => {
    let first: number | null = null;
    let hasRoom = true;
    channel.hello();
    channel.onAsked = ({ type, id }) => {
      if (type === SAY.kill && id === first) {
        hasRoom = !isFullForEver;
        channel.say(HEAR.done, id, Buffer.of(0));
      }
      if (type !== ASK.spawn) return;
      if (!hasRoom) {
        channel.say(HEAR.fault, id, BUSY);
        channel.say(HEAR.done, id, Buffer.of(3));
        return;
      }
      channel.say(HEAR.started, id, STARTED);
      channel.say(HEAR.exit, id, exitPayload({ leftovers: first === null ? 9 : 0 }));
      if (first !== null) channel.say(HEAR.done, id, Buffer.of(0));
      hasRoom = first !== null;
      first ??= id;
    };
  };

/** One process runs until it is killed, and there is no room for another. */
const crowded: Script = (channel) => {
  let first: number | null = null;
  channel.hello();
  channel.onAsked = ({ type, id }) => {
    if (type === SAY.kill) {
      channel.say(HEAR.exit, id, exitPayload());
      channel.say(HEAR.done, id, Buffer.of(0));
    }
    if (type !== ASK.spawn) return;
    if (first === null) {
      first = id;
      channel.say(HEAR.started, id, STARTED);
      return;
    }
    channel.say(HEAR.fault, id, BUSY);
    channel.say(HEAR.done, id, Buffer.of(3));
  };
};

const greedy: Script = (channel) => {
  channel.hello();
  channel.onAsked = ({ type, id }) => {
    if (type === ASK.spawn) channel.say(HEAR.started, id, STARTED);
    if (type === SAY.data) channel.say(HEAR.credit, id, Buffer.of(255, 255, 255, 0));
  };
};

function serve(ground: ScriptedGround) {
  return new BoxdHelper({ image: "i", clock: new FakeClock(), logger: new KeptLogger() }).serve(ground);
}

async function collectExit(events: AsyncIterable<ExecEvent>): Promise<ExecExit | null> {
  for await (const event of events) if (event.type === "exit") return event.exit;
  return null;
}

async function exec(box: BoxHandle): Promise<ExecExit | string> {
  try {
    for await (const event of box.exec(COMMAND, FOREVER)) if (event.type === "exit") return event.exit;
    return "no exit";
  } catch (error) {
    return error instanceof ServiceError ? error.code : "another error";
  }
}

afterEach(() => {
  vi.useRealTimers();
});

describe("BoxdSession", () => {
  it("shares one helper between leases that come at once", async () => {
    const ground = new ScriptedGround(honest);
    await using session = serve(ground);
    const exits = await Promise.all([session.lease(), session.lease()].map(exec));
    expect(exits).toMatchObject([{ exitCode: 3 }, { exitCode: 3 }]);
    expect(ground.did).toEqual(["open"]);
  });

  it("tells a command whose helper died as killed, ends all that may be left, and starts another helper", async () => {
    const ground = new ScriptedGround(dying, honest);
    await using session = serve(ground);
    const box = session.lease();
    expect(await exec(box)).toMatchObject({ status: "killed", exitCode: null });
    expect(await exec(box)).toMatchObject({ status: "completed", exitCode: 3 });
    expect(ground.did).toEqual(["open", "clear", "open"]);
  });

  it("stops what earlier commands of the lease left, when there is no room for the next one, and says so", async () => {
    const ground = new ScriptedGround(filling(false));
    await using session = serve(ground);
    const box = session.lease();
    expect(await exec(box)).toMatchObject({ leftovers: 9 });
    expect(await exec(box)).toMatchObject({
      status: "completed",
      notes: [
        "The box was full of processes (limit 128): what earlier commands had left running was stopped first.",
      ],
    });
    expect(ground.did).toEqual(["open"]);
  });

  it("clears a box that has no room and nothing of the lease in it, and refuses the command", async () => {
    const ground = new ScriptedGround(filling(true));
    await using session = serve(ground);
    const box = session.lease();
    await exec(box);
    expect(await exec(box)).toBe("box.readiness");
    expect(ground.did).toEqual(["open", "clear"]);
  });

  it("stops nothing that runs under another lease for a command that finds no room", async () => {
    const ground = new ScriptedGround(crowded);
    await using session = serve(ground);
    {
      await using _job = await session.lease().spawn(PROCESS, FOREVER);
      const refused = collectExit(session.lease().exec(COMMAND, FOREVER));
      await expect(refused).rejects.toMatchObject({
        code: "box.readiness",
        message: "The box could not start the command.",
        hint: "The box may be full of processes (limit 128): stop a job, or try again when what runs in it has ended.",
      });
      expect(ground.did).toEqual(["open"]);
    }
    await expect(collectExit(session.lease().exec(COMMAND, FOREVER))).rejects.toMatchObject({
      message:
        "The box could not start the command. All processes of the box user were stopped to make room.",
    });
    expect(ground.did).toEqual(["open", "clear"]);
  });

  it("says that the box ended, when it did", async () => {
    const ground = new ScriptedGround(dying);
    ground.clearing = null;
    await using session = serve(ground);
    const exit = await exec(session.lease());
    expect(exit).toMatchObject({ status: "killed" });
    expect(JSON.stringify(exit)).toContain("The box stopped while the command ran");
    expect(await exec(session.lease())).toBe("box.readiness");
  });

  it("wakes a box that stands still under a command, which goes on and says so", async () => {
    vi.useFakeTimers();
    const ground = new ScriptedGround(still);
    ground.wakes = true;
    ground.onWoken = () => ground.channels[0]?.say(HEAR.exit, 1, exitPayload());
    await using session = serve(ground);
    const exit = exec(session.lease());
    await vi.advanceTimersByTimeAsync(4000);
    ground.channels[0]?.say(HEAR.done, 1, Buffer.of(0));
    expect(await exit).toMatchObject({ status: "completed", notes: [WOKEN_NOTE] });
    expect(ground.did).toEqual(["open", "wake"]);
  });

  it.each([false, null])("leaves a quiet command alone in a box that runs, or may: %s", async (wakes) => {
    vi.useFakeTimers();
    const ground = new ScriptedGround(still);
    ground.wakes = wakes;
    await using session = serve(ground);
    const exit = exec(session.lease());
    await vi.advanceTimersByTimeAsync(4000);
    ground.channels[0]?.say(HEAR.exit, 1, exitPayload());
    ground.channels[0]?.say(HEAR.done, 1, Buffer.of(0));
    expect(await exit).toMatchObject({ status: "completed", notes: [] });
    expect(ground.did).toEqual(["open", "wake"]);
  });

  it.each([
    ["at the first look where the box has stopped it", true, 400],
    ["when its time is over where it runs", false, 5000],
    ["when its time is over where nobody can tell", null, 5000],
  ])("drops a helper that does not end a command %s", async (_what, stopped, afterMs) => {
    vi.useFakeTimers();
    const ground = new ScriptedGround(still);
    ground.stopped = stopped;
    await using session = serve(ground);
    const exit = exec(session.lease());
    await vi.advanceTimersByTimeAsync(COMMAND.timeoutMs + afterMs - 1);
    expect(ground.did).not.toContain("clear");
    await vi.advanceTimersByTimeAsync(1);
    expect(await exit).toMatchObject({ status: "timed_out" });
    expect(ground.did.at(-1)).toBe("clear");
  });

  it("starts the whole box anew after two faults", async () => {
    const ground = new ScriptedGround(lying, lying, honest);
    await using session = serve(ground);
    const box = session.lease();
    for (let fault = 0; fault < 2; fault += 1) expect(await exec(box)).toMatchObject({ status: "killed" });
    expect(await exec(box)).toMatchObject({ exitCode: 3 });
    expect(ground.did).toEqual(["open", "clear", "open", "restart", "open"]);
  });

  it("tries stronger and stronger means where no helper starts, and then says so", async () => {
    const ground = new ScriptedGround(dying, garbage);
    await using session = serve(ground);
    const box = session.lease();
    await exec(box);
    expect(await exec(box)).toBe("box.engine_unavailable");
    expect(ground.did).toEqual(["open", "clear", "open", "clear", "open", "restart", "open"]);
  });

  it("does not touch a box in which the first helper does not start", async () => {
    const ground = new ScriptedGround(garbage);
    await using session = serve(ground);
    await expect(session.ready(FOREVER)).rejects.toMatchObject({ code: "box.engine_unavailable" });
    expect(ground.did).toEqual(["open"]);
  });

  it("holds the helper to the window of a process's input", async () => {
    const ground = new ScriptedGround(greedy);
    await using session = serve(ground);
    await using process = await session.lease().spawn(PROCESS, FOREVER);
    await process.write(Buffer.from("x"), FOREVER);
    const events = [];
    for await (const event of process.events) events.push(event);
    expect(events).toMatchObject([{ type: "exit", exit: { status: "killed" } }]);
    await expect(process.write(Buffer.from("x"), FOREVER)).rejects.toMatchObject({
      code: "box.process_not_found",
    });
    expect(ground.did).toEqual(["open", "clear"]);
  });

  it("says that a helper was lost or refused while it started a process, and leaves nothing", async () => {
    const ground = new ScriptedGround(dying);
    await using session = serve(ground);
    const box = session.lease();
    await expect(box.spawn(PROCESS, FOREVER)).rejects.toMatchObject({ code: "box.engine_unavailable" });
    expect(ground.did).toEqual(["open", "clear"]);
    const full = new ScriptedGround((channel) => {
      channel.hello();
      channel.onAsked = ({ type, id }) => {
        if (type !== ASK.spawn) return;
        channel.say(
          HEAR.fault,
          id,
          Buffer.concat([Buffer.alloc(4, 255), Buffer.of(4, 0, 0, 0), Buffer.from("busy")]),
        );
        channel.say(HEAR.done, id, Buffer.of(3));
      };
    });
    await using other = serve(full);
    await expect(other.lease().spawn(PROCESS, FOREVER)).rejects.toMatchObject({ code: "box.readiness" });
  });

  it("ends what a lease left, and nothing else", async () => {
    const ground = new ScriptedGround(leaving);
    await using session = serve(ground);
    const [one, two] = [session.lease(), session.lease()];
    expect(await exec(one)).toMatchObject({ leftovers: 1 });
    expect(await exec(two)).toMatchObject({ leftovers: 1 });
    await one[Symbol.asyncDispose]();
    const kills = () =>
      (ground.channels[0]?.asked ?? []).filter(({ type }) => type === SAY.kill).map(({ id }) => id);
    expect(kills()).toEqual([1]);
    expect(await exec(one)).toBe("box.readiness");
    await two[Symbol.asyncDispose]();
    expect(kills()).toEqual([1, 2]);
  });
});
