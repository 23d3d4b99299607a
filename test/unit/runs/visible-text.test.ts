import { describe, expect, it } from "vitest";
import { VisibleText } from "../../../src/runs/visible-text.js";

describe("VisibleText", () => {
  it("is empty before anything came", () => {
    expect(new VisibleText().text).toBe("");
  });

  it("is the newest snapshot, which holds the whole run", () => {
    const shown = new VisibleText();
    shown.stream("before");
    shown.complete("before");
    shown.stream("before\n\nafter");
    shown.complete("after");
    expect(shown.text).toBe("before\n\nafter");
  });

  it("is all complete messages in order where nothing was streamed", () => {
    const shown = new VisibleText();
    for (const text of ["one", "", "two"]) shown.complete(text);
    expect(shown.text).toBe("one\n\ntwo");
  });

  it("is the complete message where the stream stopped short of it", () => {
    const shown = new VisibleText();
    shown.stream("Hel");
    shown.complete("Hello.");
    expect(shown.text).toBe("Hello.");
  });

  it("is the snapshot again once one came after that message", () => {
    const shown = new VisibleText();
    shown.stream("Hel");
    shown.complete("Hello.");
    shown.stream("Hello.\n\nAnd");
    expect(shown.text).toBe("Hello.\n\nAnd");
  });

  it("is not changed by a message without text", () => {
    const shown = new VisibleText();
    shown.stream("Hel");
    shown.complete("");
    expect(shown.text).toBe("Hel");
  });

  it("is what is left of a snapshot that was withdrawn and of the messages before it", () => {
    const shown = new VisibleText();
    shown.complete("one");
    shown.stream("one two");
    shown.stream("");
    expect(shown.text).toBe("one");
  });
});
