import { describe, expect, it } from "vitest";
import { deliveryKind, deliverySchema } from "../../../src/domain/delivery.js";

describe("deliveryKind", () => {
  it.each(["chart.png", "photo.JPG", "a.jpeg", "a.gif", "a.webp", "a.bmp", "a.b.png"])(
    "calls %s an image",
    (name) => {
      expect(deliveryKind(name)).toBe("image");
    },
  );

  it.each(["clip.mp3", "a.wav", "a.silk", "a.amr", "a.ogg", "a.m4a", "a.AAC"])("calls %s voice", (name) => {
    expect(deliveryKind(name)).toBe("voice");
  });

  it.each(["report.pdf", "png", "noextension", "a.png.", "a.png.zip", "", ".", "movie.mp4"])(
    "calls %j a file",
    (name) => {
      expect(deliveryKind(name)).toBe("file");
    },
  );
});

describe("deliverySchema", () => {
  const delivery = {
    id: "file_1",
    name: "chart.png",
    kind: "image",
    mime_type: "image/png",
    bytes: 0,
    sha256: "a".repeat(64),
    url: "/v1/files/file_1/content",
    state: "pending",
  };

  it("takes a delivery as the run object shows it, empty files included", () => {
    expect(deliverySchema.parse(delivery)).toEqual(delivery);
  });

  it.each([{ state: "lost" }, { kind: "video" }, { bytes: -1 }, { id: "run_1" }])("refuses %j", (fault) => {
    expect(deliverySchema.safeParse({ ...delivery, ...fault }).success).toBe(false);
  });
});
