import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { PinoLogger, type PinoLoggerDeps } from "../../../../src/adapters/pino/pino-logger.js";
import { SecretMask } from "../../../../src/lib/secret-mask.js";
import type { LogFields } from "../../../../src/ports/logger.js";

function aLogger(deps: Partial<PinoLoggerDeps> = {}) {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const logger = new PinoLogger({ level: "debug", mask: new SecretMask([]), destination, ...deps });
  const records = () => lines.map((line) => z.record(z.string(), z.unknown()).parse(JSON.parse(line)));
  return { logger, lines, records };
}

describe("PinoLogger", () => {
  it("writes one JSON line per call, with level, time, fields and message", () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 2, 3, 4, 5, 6) });
    const { logger, lines, records } = aLogger();
    logger.info({ runId: "run_1", durationMs: 12, tenant: null }, "A run has ended.");
    vi.useRealTimers();
    expect(records()).toEqual([
      {
        level: "info",
        time: "2026-01-02T03:04:05.006Z",
        runId: "run_1",
        durationMs: 12,
        tenant: null,
        message: "A run has ended.",
      },
    ]);
    expect(lines[0]?.indexOf("\n")).toBe((lines[0]?.length ?? 0) - 1);
  });

  it("writes each level under its name, and causes where they are given", () => {
    const { logger, records } = aLogger();
    logger.error({}, "e", new Error("why"));
    logger.warn({}, "w", "odd");
    logger.warn({}, "w");
    logger.debug({}, "d");
    expect(records()).toMatchObject([
      { level: "error", error: { message: "why" } },
      { level: "warn", error: { name: "string", message: "odd" } },
      { level: "warn" },
      { level: "debug" },
    ]);
    expect(records()[2]).not.toHaveProperty("error");
  });

  it.each([
    { level: "debug" as const, written: ["error", "warn", "info", "debug"] },
    { level: "info" as const, written: ["error", "warn", "info"] },
    { level: "warn" as const, written: ["error", "warn"] },
    { level: "error" as const, written: ["error"] },
    { level: "silent" as const, written: [] },
  ])("is quiet below the level $level", ({ level, written }) => {
    const { logger, records } = aLogger({ level });
    logger.error({}, "e");
    logger.warn({}, "w");
    logger.info({}, "i");
    logger.debug({}, "d");
    expect(records().map((record) => record["level"])).toEqual(written);
  });

  it("drops fields that are not on the list, and says which", () => {
    const { logger, lines, records } = aLogger();
    const widened: LogFields & Record<string, string> = { runId: "run_1", authorization: "Bearer canary" };
    logger.info(widened, "m");
    expect(records()).toMatchObject([{ runId: "run_1", dropped: ["authorization"] }]);
    expect(lines.join("")).not.toContain("canary");
  });

  it("hides secrets in fields, messages and causes, and escapes control characters", () => {
    const { logger, lines } = aLogger({ mask: new SecretMask(["canary-secret"]) });
    const cause = new Error("canary-secret", { cause: new Error("canary-secret\u009b") });
    logger.error({ reason: "canary-secret\n" }, "about canary-secret\u001b[2J", cause);
    expect(lines.join("")).not.toContain("canary-secret");
    expect(lines.join("").trimEnd()).not.toMatch(/\p{Cc}/u);
  });
});
