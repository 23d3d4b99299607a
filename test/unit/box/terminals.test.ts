import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BoxService } from "../../../src/box/box-service.js";
import { Terminals } from "../../../src/box/terminals.js";
import { CleanupStack } from "../../../src/lib/cleanup-stack.js";
import { FakeBoxBackend } from "../../fakes/fake-box-backend.js";
import { exited, type FakeCommand, printed } from "../../fakes/fake-box-commands.js";
import { aWorld, ENDLESS, SERVICE_SETTINGS } from "./box-world.js";

const SIZE = { rows: 24, columns: 80 };
const MINUTE = 60_000;

/** The shell of every terminal. */
const commands: FakeCommand = ({ input }) => shell(input);

async function* shell(input: Parameters<FakeCommand>[0]["input"]) {
  yield printed("$ ");
  for (let line = await input?.next(); line !== null && line !== undefined; line = await input?.next())
    yield printed(Buffer.from(line).toString());
  yield exited(0);
}

let life: CleanupStack;

async function aService(maxOpen = 3) {
  const world = { ...aWorld(), backend: new FakeBoxBackend({ commands }) };
  const boxes = new BoxService(world, SERVICE_SETTINGS);
  life.use(boxes);
  const lease: ConstructorParameters<typeof Terminals>[0]["lease"] = (session, options) =>
    boxes.lease(session, options);
  const terminals = life.use(new Terminals({ ...world, lease }, { maxOpen }));
  const session = await boxes.findOrCreateSession("main", { key: "a", identity: "a" }, ENDLESS);
  const open = () => terminals.open(session, SIZE, ENDLESS);
  const leases = async () => (await boxes.describe([session], ENDLESS))[0]?.activity.leases;
  return { world, terminals, session, open, leases };
}

describe("Terminals", () => {
  beforeEach(() => {
    life = new CleanupStack();
  });
  afterEach(async () => {
    await life[Symbol.asyncDispose]();
  });

  it("opens a shell that holds the box until it ends", async () => {
    const { terminals, session, open, leases } = await aService();
    const { id, process } = await open();
    expect(id).toMatch(/^term_/);
    expect(await leases()).toBe(1);
    using follower = process.follow(0);
    await process.write(Buffer.from("ls\n"), ENDLESS);
    expect((await follower.read(100, ENDLESS))?.parts[0]?.stream).toBe("stdout");
    expect(terminals.find(session.id, id).process).toBe(process);
    await process.endInput(ENDLESS);
    await process.closed;
    expect(await leases()).toBe(0);
    expect(() => terminals.find(session.id, id)).toThrow(
      expect.objectContaining({ code: "box.process_not_found" }),
    );
    expect(terminals.count).toBe(0);
  });

  it("knows no terminal of another session", async () => {
    const { terminals, open } = await aService();
    const { id } = await open();
    expect(() => terminals.find("ses_other", id)).toThrow(
      expect.objectContaining({ code: "box.process_not_found" }),
    );
    expect(() => terminals.connect("term_unknown")[Symbol.dispose]()).not.toThrow();
  });

  it("refuses more than there may be, those that are being opened included", async () => {
    const { open } = await aService(1);
    const outcomes = await Promise.allSettled([open(), open()]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    await expect(open()).rejects.toMatchObject({ code: "box.capacity", details: { limit: 1, used: 1 } });
  });

  it("closes a terminal that nobody was connected to for 30 min", async () => {
    const { terminals, open, world, leases } = await aService();
    const { id, process } = await open();
    {
      using _connection = terminals.connect(id);
      using _follower = process.follow(0);
      world.clock.advance(60 * MINUTE);
      await terminals.closeAbandoned();
      expect(terminals.count).toBe(1);
    }
    world.clock.advance(29 * MINUTE);
    await terminals.closeAbandoned();
    expect(terminals.count).toBe(1);
    world.clock.advance(MINUTE);
    await terminals.closeAbandoned();
    expect([terminals.count, await leases()]).toEqual([0, 0]);
  });

  it("counts a terminal as connected while another connection has taken over", async () => {
    const { terminals, open, world } = await aService();
    const { id, process } = await open();
    using _next = process.follow(0);
    terminals.connect(id)[Symbol.dispose]();
    world.clock.advance(60 * MINUTE);
    await terminals.closeAbandoned();
    expect(terminals.count).toBe(1);
  });

  it("ends with its session, also while it is being opened, and with the service", async () => {
    const { terminals, session, open, leases } = await aService();
    const { process } = await open();
    const opening = open();
    opening.catch(() => undefined);
    await terminals.endAll(session.id);
    await expect(opening).rejects.toMatchObject({ code: "box.process_not_found" });
    expect(process.exit).toMatchObject({ status: "cancelled" });
    expect(await leases()).toBe(0);
    const last = await open();
    await terminals[Symbol.asyncDispose]();
    expect(last.process.exit).not.toBeNull();
    await expect(open()).rejects.toMatchObject({ code: "service.stopping" });
  });
});
