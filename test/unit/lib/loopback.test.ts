import { describe, expect, it } from "vitest";
import { isLoopbackHost } from "../../../src/lib/loopback.js";

describe("isLoopbackHost", () => {
  it.each(["localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]"])(
    "takes %s for this machine",
    (host) => {
      expect(isLoopbackHost(host)).toBe(true);
    },
  );

  it.each(["0.0.0.0", "::", "10.0.0.1", "127.0.0.1.evil.example", "localhost.evil.example", "", "127.1"])(
    "takes %s for somewhere else",
    (host) => {
      expect(isLoopbackHost(host)).toBe(false);
    },
  );
});
