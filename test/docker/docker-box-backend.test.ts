import { describe } from "vitest";
import { describeBoxBackend } from "../contracts/box-backend.js";
import { hasEngine, type ServedBy, TestEngine } from "../support/engine.js";

describe.skipIf(!hasEngine())("DockerBoxBackend", () => {
  for (const servedBy of ["helper", "helper_by_exec", "engine"] satisfies ServedBy[])
    describeBoxBackend(`docker, served by the ${servedBy}`, () => {
      const engine = new TestEngine(servedBy);
      return {
        backend: engine.backend,
        settings: engine.settings,
        floodBytes: 300 * 1024 * 1024,
        hasDirectoryModes: true,
        hasProcesses: servedBy !== "engine",
        newPlace: () => engine.newPlace(),
        [Symbol.asyncDispose]: async () => engine[Symbol.asyncDispose](),
      };
    });
});
