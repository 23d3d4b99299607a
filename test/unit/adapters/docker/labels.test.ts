import { describe, expect, it } from "vitest";
import { ownerLabels, readQuotaMib, readUid } from "../../../../src/adapters/docker/labels.js";
import { textLike } from "../../../support/text-like.js";

describe("ownerLabels", () => {
  it("shows the tenant as a hash", () => {
    const labels = ownerLabels({ serviceId: "svc", sessionId: "ses_1", tenant: "acme" });
    expect(labels).toEqual({
      "berth.service": "svc",
      "berth.session": "ses_1",
      "berth.tenant": textLike(/^(?!.*acme)/),
    });
    expect(ownerLabels({ serviceId: "svc", sessionId: "ses_1", tenant: "other" })["berth.tenant"]).not.toBe(
      labels["berth.tenant"],
    );
  });
});

describe("readQuotaMib", () => {
  it.each([
    [{ "berth.quota_mb": "1024" }, 1024],
    [{ "berth.quota_mb": "-1" }, 0],
    [{}, 0],
  ])("reads %j as %j", (labels, quota) => {
    expect(readQuotaMib(labels)).toBe(quota);
  });
});

describe("readUid", () => {
  it.each([
    [{ "berth.uid": "30001" }, 30_001],
    [{ "berth.uid": "0" }, null],
    [{ "berth.uid": "3e4" }, null],
    [{ "berth.uid": " 30001" }, null],
    [{ "berth.uid": "" }, null],
    [{}, null],
  ])("reads %j as %j", (labels, uid) => {
    expect(readUid(labels)).toBe(uid);
  });
});
