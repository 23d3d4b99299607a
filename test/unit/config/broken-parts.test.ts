import { describe, expect, it } from "vitest";
import { BrokenParts } from "../../../src/config/broken-parts.js";
import { settingsSchema } from "../../../src/config/config-schema.js";
import { isGroup } from "../../../src/config/group.js";

describe("BrokenParts", () => {
  const broken = new BrokenParts([["server", "port"], ["models"]]);

  it("leave sound what they do not touch", () => {
    expect(broken.areSound(["server.host", "server.keys", "pipelines"])).toBe(true);
    expect(broken.areSound(["server.port"])).toBe(false);
    expect(broken.areSound(["server"])).toBe(false);
    expect(broken.areSound(["server.host", "models"])).toBe(false);
    expect(new BrokenParts([["boxes"]]).areSound(["boxes.engines"])).toBe(false);
    expect(new BrokenParts([]).areSound(["server", "models"])).toBe(true);
  });

  it("are left out of the settings, and nothing else is", () => {
    const settings = { server: { port: "x", host: "::1" }, models: [1], pipelines: [2], port: 3 };
    expect(broken.leaveOut(settings)).toEqual({ server: { host: "::1" }, pipelines: [2], port: 3 });
  });

  it("can be left out of every section, because all settings have defaults", () => {
    const sections = Object.entries(settingsSchema.parse({})).filter(([, value]) => isGroup(value));
    expect(sections.length).toBeGreaterThan(5);
    for (const [section] of sections) expect(settingsSchema.safeParse({ [section]: {} }).success).toBe(true);
  });
});
