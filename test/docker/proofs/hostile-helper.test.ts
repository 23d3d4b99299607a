/** A box whose helper program was replaced by a hostile one: nothing hangs, nothing grows, nothing is believed (box §6.2, security §9). */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BoxdHelper } from "../../../src/adapters/boxd/boxd-helper.js";
import { SystemClock } from "../../../src/adapters/system/system-clock.js";
import { ServiceError } from "../../../src/domain/errors.js";
import { run } from "../../contracts/box-backend.js";
import { KeptLogger } from "../../fakes/kept-logger.js";
import { ENGINE_SETTINGS, FOREVER, hasEngine, TestEngine } from "../../support/engine.js";
import { IS_FULL, prove } from "../../support/proof.js";

const MIB = 1024 * 1024;
const GROWTH_MIB = 64;
const LONGEST_MS = 60_000;
const PLACE = "/opt/berth";
const REPOSITORY = "berth-hostile-helper";

/** Speaks over its standard streams or the socket it is told to dial, and then does what the mode says. */
const program = (mode: string): string => `#!/usr/bin/python3 -IS
import os, socket, struct, sys, time
MODE = ${JSON.stringify(mode)}
if sys.argv[1] == "version": sys.exit(0)
if sys.argv[1] == "hold":
    while True: time.sleep(1000)
write = lambda data: os.write(1, data)
if "--dial" in sys.argv:
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[sys.argv.index("--dial") + 1])
    s.sendall(os.environ.get("BOXD_TOKEN", "").encode())
    os.dup2(s.fileno(), 0); write = s.send
def frame(kind, ident=0, payload=b"", length=None):
    return struct.pack("<IIBBH", len(payload) if length is None else length, ident, kind, 0, 0) + payload
def text(value): return struct.pack("<I", len(value)) + value
def hello(): write(frame(0x81, 0, struct.pack("<HIIIIHHII", 1, 7, 65536, 1 << 20, 131072, 64, 64, 12, 30001) + text(b"1.0.0")))
def flood(data, times=20000):
    for _ in range(times): write(data)
if MODE == "garbage": flood(b"\\xff" * 65536)
if MODE == "huge length": flood(frame(0x81, 0, b"", 0xffffffff) + b"x" * 60000)
if MODE == "half a frame": write(frame(0x81, 0, b"", 200) + b"half"); sys.exit(0)
hello()
if MODE == "greetings without end":
    while True: hello()
if MODE == "dies at once": sys.exit(1)
heard = os.read(0, 65536)
if MODE == "answers nobody asked for": flood(frame(0x88, 99, b"x" * 60000))
if MODE == "output without credit": flood(frame(0x88, 1, b"x" * 60000))
if MODE == "half an answer": write(frame(0x88, 1, b"", 60000) + b"x" * 100)
time.sleep(1000)
`;

const MODES = ["garbage", "half a frame", "output without credit", "half an answer"];
const MORE = ["huge length", "greetings without end", "dies at once", "answers nobody asked for"];

describe.skipIf(!hasEngine()).each(IS_FULL ? [...MODES, ...MORE] : MODES)(
  "a helper that was replaced by one of %s",
  (mode) => {
    let engine: TestEngine;
    let image: string;
    let version = "";

    beforeAll(async () => {
      image = `${REPOSITORY}:${randomBytes(6).toString("hex")}`;
      const { docker } = new TestEngine("engine");
      const [repo, tag] = image.split(":");
      const maker = await docker.createContainer({
        Image: ENGINE_SETTINGS.image,
        User: "0:0",
        Env: [`PROGRAM=${program(mode)}`],
        Cmd: [
          "sh",
          "-c",
          `mkdir -p ${PLACE} && printf %s "$PROGRAM" > ${PLACE}/boxd && chmod 755 ${PLACE}/boxd`,
        ],
        HostConfig: { NetworkMode: "none" },
      });
      await maker.start();
      await maker.wait();
      await maker.commit({ repo, tag });
      await maker.remove({ force: true });
      version = (await docker.getImage(image).inspect()).Id.replace("sha256:", "").slice(0, 16);
      engine = new TestEngine(
        "helper",
        new BoxdHelper({ image, clock: new SystemClock(), logger: new KeptLogger() }),
      );
    }, LONGEST_MS);
    afterAll(async () => {
      await engine[Symbol.asyncDispose]();
      await engine.docker.getVolume(`berth-boxd-${version}`).remove({ force: true });
      await engine.docker.getImage(image).remove({ force: true });
    }, LONGEST_MS);

    it(
      "costs an error or the helper, and neither time nor memory of the service",
      async () => {
        const before = process.memoryUsage().rss;
        const begun = performance.now();
        const outcomes: string[] = [];
        for (let round = 0; round < 2; round += 1)
          outcomes.push(
            await useOnce().catch((error: unknown) => {
              if (error instanceof ServiceError) return error.code;
              throw error;
            }),
          );
        const kept = { proof: "hostile" } as const;
        const tookMs = performance.now() - begun;
        prove({
          ...kept,
          what: `two uses of a box, helper of ${mode}`,
          value: tookMs,
          unit: "ms",
          limit: LONGEST_MS,
        });
        const grownMib = (process.memoryUsage().rss - before) / MIB;
        prove({
          ...kept,
          what: `growth, helper of ${mode}`,
          value: grownMib,
          unit: "MiB",
          limit: GROWTH_MIB,
        });
        for (const outcome of outcomes)
          expect(outcome).toMatch(/^(hello|killed|timed_out|box\.readiness|box\.engine_unavailable)$/);
        expect(grownMib).toBeLessThan(2 * GROWTH_MIB);
      },
      2 * LONGEST_MS,
    );

    /** @returns what came out: "hello" is from the engine's own worker, which stands in for a helper that does not start */
    async function useOnce(): Promise<string> {
      const place = engine.newPlace();
      await engine.backend.prepareWorkspace(place, engine.settings, FOREVER);
      await engine.backend.start(place, engine.settings, FOREVER);
      await using box = await engine.backend.open(place, FOREVER);
      const { stdout, exit } = await run(box, ["echo", "hello"], { timeoutMs: 3000 });
      return exit.status === "completed" ? stdout.trim() : exit.status;
    }
  },
);
