import { describe } from "vitest";
import { describeBoxBackend } from "../contracts/box-backend.js";
import { hasEngine, TestEngine } from "../support/engine.js";

describe.skipIf(!hasEngine())("DockerBoxBackend", () => {
  describeBoxBackend("docker", () => {
    const engine = new TestEngine();
    return {
      backend: engine.backend,
      settings: engine.settings,
      floodBytes: 300 * 1024 * 1024,
      newPlace: () => engine.newPlace(),
      [Symbol.asyncDispose]: async () => engine[Symbol.asyncDispose](),
    };
  });
});
