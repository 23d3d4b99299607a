import { describe, expect, it } from "vitest";
import { tenantNameSchema } from "../../../src/config/server-settings.js";
import { POOL_TENANT } from "../../../src/domain/session.js";

describe("the owner of boxes that are kept ready", () => {
  it("is nobody: no key can be of that tenant", () => {
    expect(tenantNameSchema.safeParse("main").success).toBe(true);
    expect(tenantNameSchema.safeParse(POOL_TENANT).success).toBe(false);
  });
});
