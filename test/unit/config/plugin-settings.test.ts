import { describe, expect, it } from "vitest";
import { collectSecrets } from "../../../src/config/collect-secrets.js";
import { packageEnvironment, pluginsSchema } from "../../../src/config/plugin-settings.js";

describe("pluginsSchema", () => {
  it("takes variables of single packages, and has them masked", () => {
    const plugins = pluginsSchema.parse({ environment: { "acme/echo": { API_KEY: "a-secret-of-acme" } } });
    expect(collectSecrets({ plugins })).toEqual(["a-secret-of-acme"]);
  });

  it.each([
    { environment: { acme: { A: "b" } } },
    { environment: { "acme/echo": { "A=B": "c" } } },
    { memory_mb: 10 },
    { unknown: true },
  ])("refuses %o", (plugins) => {
    expect(pluginsSchema.safeParse(plugins).success).toBe(false);
  });
});

describe("packageEnvironment", () => {
  it("passes on where programs are, the language and the time zone, and nothing else", () => {
    const environment = { PATH: "/bin", TZ: "UTC", OPENAI_API_KEY: "sk", NODE_OPTIONS: "--inspect" };
    expect(packageEnvironment(environment)).toEqual({ PATH: "/bin", TZ: "UTC" });
    expect(packageEnvironment({})).toEqual({ PATH: "/usr/local/bin:/usr/bin:/bin" });
  });
});
