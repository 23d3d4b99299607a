import { describe, expect, it } from "vitest";
import { parseEngineAddress } from "../../../../src/adapters/docker/engine-connection.js";

describe("parseEngineAddress", () => {
  it.each([
    ["", { socketPath: "/var/run/docker.sock" }],
    ["unix:///run/user/1000/docker.sock", { socketPath: "/run/user/1000/docker.sock" }],
    ["tcp://10.0.0.5:2376", { host: "10.0.0.5", port: 2376, protocol: "http" }],
    ["tcp://engine", { host: "engine", port: 2375, protocol: "http" }],
    ["https://engine:2376", { host: "engine", port: 2376, protocol: "https" }],
  ])("reads %j", (address, connection) => {
    expect(parseEngineAddress(address)).toEqual(connection);
  });

  it.each(["ssh://engine", "/var/run/docker.sock", "tcp://"])(
    "refuses %j and says what it knows",
    (address) => {
      expect(() => parseEngineAddress(address)).toThrow(/not one of the known kinds/);
    },
  );
});
