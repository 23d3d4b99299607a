import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findCodeBlocks } from "../../../../src/adapters/demo/fenced-code.js";

describe("findCodeBlocks", () => {
  it("finds blocks in order, with their language", () => {
    expect(
      findCodeBlocks("Run\n```bash\nls\n```\nthen\n~~~Python\nprint(1)\n\n~~~\n```\nplain\n```"),
    ).toEqual([
      { language: "bash", code: "ls\n" },
      { language: "python", code: "print(1)\n\n" },
      { language: "", code: "plain\n" },
    ]);
  });

  it.each([
    ["``` js title=x\na\n```", { language: "js", code: "a\n" }],
    ["```{.python}\na\n```", { language: "python", code: "a\n" }],
    ["````sh\n```\n````", { language: "sh", code: "```\n" }],
    ["```sh\r\na\r\n```\r\n", { language: "sh", code: "a\n" }],
    ["  ```py\n  if x:\n      y\n  ```", { language: "py", code: "if x:\n    y\n" }],
    ["```sh\n```", { language: "sh", code: "" }],
    ["```sh\n~~~\n```   ", { language: "sh", code: "~~~\n" }],
  ])("reads %j", (text, block) => {
    expect(findCodeBlocks(text)).toEqual([block]);
  });

  it.each(["", "no code", "`inline`", "```sh\nnot closed", "    ```sh\n    a\n    ```", "```a`b\nx\n"])(
    "finds none in %j",
    (text) => {
      expect(findCodeBlocks(text)).toEqual([]);
    },
  );

  it("gives back any code whose fence it does not contain", () => {
    const line = fc.string({ unit: "binary", maxLength: 12 }).filter((text) => !/[\r\n`]/.test(text));
    fc.assert(
      fc.property(fc.array(line, { maxLength: 6 }), (lines) => {
        const code = lines.map((text) => `${text}\n`).join("");
        expect(findCodeBlocks(`\`\`\`py\n${code}\`\`\``)).toEqual([{ language: "py", code }]);
      }),
    );
  });
});
