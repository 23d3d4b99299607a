import { describe, expect, it } from "vitest";
import { exportBoxFilesTool as exportBoxFiles } from "../../../../src/tools/native/export-box-files.js";
import { proves } from "../../../support/proves.js";
import { errorOf, FakeToolBox, resultOf } from "../fake-tool-box.js";

const file = { file_id: "file_1", name: "a.pdf", type: "file", size: 3, sha256: "00", source_removed: true };

describe("export_box_files", () => {
  it("says that the files are registered and that their sources are gone", async () => {
    proves("OUT-19");
    const box = new FakeToolBox();
    box.exportAnswer = { ok: true, files: [file], warnings: [] };
    expect(await resultOf(exportBoxFiles, box, { paths: ["/workspace/a.pdf"] })).toEqual({
      ok: true,
      files: [file],
      warnings: [],
      message:
        "1 file is registered for delivery to the user. Their sources in the box are gone; do not export them again.",
    });
    expect(box.requests).toEqual(['export ["/workspace/a.pdf"]']);
  });

  it("does not claim that a source is gone that could not be removed", async () => {
    const box = new FakeToolBox();
    box.exportAnswer = { ok: true, files: [file, { ...file, source_removed: false }], warnings: ["stays"] };
    const result = await resultOf(exportBoxFiles, box, { paths: ["/workspace/a.pdf"] });
    expect(result["message"]).toMatch(
      /^2 files are registered .* Sources that could still be removed are gone/,
    );
    expect(result["warnings"]).toEqual(["stays"]);
  });

  it("passes items on as they came, for the export judges the whole selection", async () => {
    const box = new FakeToolBox();
    box.exportAnswer = { ok: false, error: "3: not a path" };
    expect(await errorOf(exportBoxFiles, box, { paths: [3, ""] })).toBe("3: not a path");
    expect(box.requests).toEqual(['export [3,""]']);
  });

  it.each([[{}], [{ paths: "/workspace/a" }], [{ paths: null }]])(
    "refuses %j by the name of the field",
    async (input) => {
      expect(await errorOf(exportBoxFiles, new FakeToolBox(), input)).toMatch(
        /^Invalid input for export_box_files: paths: /,
      );
    },
  );
});
