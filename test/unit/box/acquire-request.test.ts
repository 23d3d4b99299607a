import { describe, expect, it } from "vitest";
import { chooseSettings, readAcquireRequest } from "../../../src/box/acquire-request.js";
import { resolveBoxSettings, settingsFingerprint } from "../../../src/box/box-policy.js";
import { plainReuseKey, renderReuseKey } from "../../../src/box/reuse-key.js";
import { proves } from "../../support/proves.js";

const RULES = { tenant: "main", images: ["other:1"], requiredKey: null };
const asking = (image: string): unknown => ({ reuse_key: "k", options: { image } });
const refusal = (code: string, param: string): unknown => expect.objectContaining({ code, param });

describe("readAcquireRequest", () => {
  it.each(["host_path", "extra_mounts", "max_sessions", "memory_mb", "session_id", "image"])(
    "takes no %s beside the key",
    (field) => {
      expect(() => readAcquireRequest({ reuse_key: "k", [field]: 1 }, RULES)).toThrow(
        refusal("box.validation", field),
      );
    },
  );

  it.each(["host_path", "extra_mounts", "max_sessions", "memory_mb", "session_id", "__proto__"])(
    "takes no option %s",
    (field) => {
      const request: unknown = JSON.parse(`{"reuse_key":"k","options":{"${field}":"x"}}`);
      expect(() => readAcquireRequest(request, RULES)).toThrow(refusal("box.validation", field));
    },
  );

  it.each([
    [null, "request"],
    ["k", "request"],
    [["k"], "request"],
    [{}, "reuse_key"],
    [{ reuse_key: "" }, "reuse_key"],
    [{ reuse_key: "x".repeat(1025) }, "reuse_key"],
    [{ reuse_key: 7 }, "reuse_key"],
    [{ reuse_key: "k", template: 7 }, "template"],
    [{ reuse_key: "k", options: [] }, "options"],
    [{ reuse_key: "k", options: { image: null } }, "image"],
  ])("refuses %j", (request, param) => {
    proves("KEY-05");
    expect(() => readAcquireRequest(request, RULES)).toThrow(refusal("box.validation", param));
  });

  it("gives a plain key its own identity, and a key with its template that of the template", () => {
    expect(readAcquireRequest({ reuse_key: "{a}" }, RULES)).toEqual({
      key: plainReuseKey("{a}", "main"),
      image: null,
    });
    const rendered = renderReuseKey("{a}_{b}", { a: "x_y", b: "z" }, "main");
    const request = { reuse_key: rendered.key, template: "{a}_{b}", options: {} };
    expect(readAcquireRequest(request, RULES).key).toEqual(rendered);
  });

  it.each(["x", "x_y_z%", "_y", "%41_b"])(
    "refuses the key %s that the template cannot have rendered",
    (key) => {
      expect(() => readAcquireRequest({ reuse_key: key, template: "{a}_{b}" }, RULES)).toThrow(
        refusal("box.validation", "reuse_key"),
      );
    },
  );

  it("takes an image that the operator allows, no other, and none with a required key", () => {
    expect(readAcquireRequest(asking("other:1"), RULES).image).toBe("other:1");
    expect(() => readAcquireRequest(asking("evil"), RULES)).toThrow(refusal("box.forbidden", "image"));
    expect(() => readAcquireRequest(asking("other:1"), { ...RULES, requiredKey: "k" })).toThrow(
      refusal("box.forbidden", "image"),
    );
  });
});

describe("chooseSettings", () => {
  const own = resolveBoxSettings("default", { image: "own" });
  const other = { ...own, image: "other:1" };

  it("takes the image that is asked for, else that of the box, else the operator's", () => {
    const known = settingsFingerprint(other);
    expect(chooseSettings(own, [], { image: "other:1", known: null })).toEqual(other);
    expect(chooseSettings(own, ["other:1"], { known })).toEqual(other);
    expect(chooseSettings(own, ["other:1"], { image: null, known: null })).toBe(own);
    expect(chooseSettings(own, [], { known })).toBe(own);
  });
});
