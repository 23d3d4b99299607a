import { describe, expect, it } from "vitest";
import { collectSecrets } from "../../../src/config/collect-secrets.js";
import { settingsSchema } from "../../../src/config/config-schema.js";

const settings = settingsSchema.parse({
  server: {
    keys: [
      { key: "berth-key-1", tenant: "main" },
      { key: "berth-key-2", tenant: "other" },
    ],
  },
  models: [
    { id: "one", base_url: "https://user:p%40ss-word@models.example/v1", model: "m", api_key: "sk-123" },
    { id: "two", base_url: "https://models.example/v1", model: "m", api_key: null },
  ],
});

describe("collectSecrets", () => {
  it("finds every setting that the schema marks, and passwords in addresses in both spellings", () => {
    expect(collectSecrets(settings)).toEqual([
      "berth-key-1",
      "berth-key-2",
      "p%40ss-word",
      "p@ss-word",
      "sk-123",
    ]);
  });

  it("takes the password of an address that cannot be decoded as it stands", () => {
    expect(collectSecrets({ models: [{ base_url: "https://u:p%zz-word@models.example/v1" }] })).toEqual([
      "p%zz-word",
      "p%zz-word",
    ]);
  });

  it("finds nothing in a configuration without keys", () => {
    expect(collectSecrets(settingsSchema.parse({}))).toEqual([]);
  });
});
