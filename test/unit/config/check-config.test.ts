import { describe, expect, it } from "vitest";
import { CONFIG_EXIT_CODE, describeLoadedConfig } from "../../../src/config/check-config.js";
import { loadConfig } from "../../../src/config/load-config.js";

describe("describeLoadedConfig", () => {
  it("gives every fault a line with path, finding and what is allowed", () => {
    const text = describeLoadedConfig({
      ok: false,
      file: "/etc/berth.yaml",
      faults: [
        { path: "server.port", found: "null", allowed: "a whole number from 0 to 65535" },
        { path: "", found: "a list of 2", allowed: "a group of settings" },
      ],
    });
    expect(text).toBe(
      [
        "/etc/berth.yaml: 2 faults",
        "  server.port: found null; allowed: a whole number from 0 to 65535.",
        "  the file: found a list of 2; allowed: a group of settings.",
        "",
      ].join("\n"),
    );
  });

  it("names models, pipelines and what must be said at start when there are no faults", () => {
    const text = describeLoadedConfig(loadConfig({ environment: {}, workingDirectory: "/nowhere" }));
    expect(text).toMatch(
      /^the built-in configuration: no faults\n {2}models: demo\n {2}pipelines: default\n/,
    );
    expect(text).toContain("offline demo model");
  });

  it("keeps the exit code of a faulty configuration", () => {
    expect(CONFIG_EXIT_CODE).toBe(78);
  });
});
