/** A service that is told to stop says so, ends in order and with 0; nobody has to guess what it waits for. */
import { describe, expect, it } from "vitest";
import { startServiceProcess } from "../../support/service-process.js";

const PATIENCE_MS = 60_000;

describe("a stop", () => {
  it.each(["SIGTERM", "SIGINT"] as const)(
    "by %s is told when it begins and when it is done",
    async (signal) => {
      await using service = await startServiceProcess({
        settings: { shutdown_grace_sec: 7, boxes: { enabled: false } },
      });
      await service.kill(signal);
      expect(service.process.exitCode).toBe(0);
      expect(service.output()).toMatch(/Berth stops: what runs has 7 s to end; .*\nBerth has stopped\.\n$/);
    },
    PATIENCE_MS,
  );
});
