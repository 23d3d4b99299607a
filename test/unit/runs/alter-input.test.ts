import { describe, expect, it } from "vitest";
import { openMemoryStores } from "../../../src/adapters/memory/open-memory-stores.js";
import type { Attachment } from "../../../src/domain/attachment.js";
import type { RunRecord } from "../../../src/ports/run-store.js";
import { alterInput } from "../../../src/runs/alter-input.js";
import type { AlteredContent } from "../../../src/runs/plugin-answer.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import { anOutcomeOf, aRun } from "../../support/records.js";
import { NEVER, sniffByName } from "../../support/run-world.js";

const TABLE: Attachment = {
  reference: "attachment-0",
  type: "file",
  source: "url",
  url: "https://example.com/table.csv",
  id: null,
  name: "table.csv",
  mime_type: "text/csv",
  size: null,
  path: null,
};

const RUN = aRun({
  input: {
    text: "Plot it.",
    contents: [{ type: "attachment", reference: "attachment-0" }],
    attachments: [TABLE],
  },
  attachments: [anOutcomeOf(TABLE, 0)],
  attachmentSources: [{ kind: "url", url: "https://example.com/table.csv" }],
});

async function alter(altered: string | readonly AlteredContent[]): Promise<RunRecord> {
  const stores = openMemoryStores({ clock: new FakeClock() });
  const deps = { ...stores, sniffMimeType: sniffByName, maxFileBytes: 1000 };
  return alterInput(deps, { run: RUN, altered }, { signal: NEVER });
}

const image = {
  type: "attachment",
  kind: "image",
  name: "a.png",
  mimeType: "image/png",
  source: { kind: "url", url: "https://example.com/a.png" },
} as const;

describe("alterInput", () => {
  it("puts a text in the place of the words, and leaves the files", async () => {
    expect((await alter("Count it.")).input).toEqual({ ...RUN.input, text: "Count it." });
  });

  it("puts a list in the place of all contents, in its order", async () => {
    const { input } = await alter([
      { type: "text", text: "First" },
      { type: "kept", reference: "attachment-0" },
      { type: "text", text: "then" },
    ]);
    expect(input).toEqual({
      text: null,
      contents: [
        { type: "text", text: "First" },
        { type: "attachment", reference: "attachment-0" },
        { type: "text", text: "then" },
      ],
      attachments: [TABLE],
    });
  });

  it("keeps a file that the list does not name, after it", async () => {
    expect((await alter([{ type: "text", text: "New" }])).input.contents).toEqual([
      { type: "text", text: "New" },
      { type: "attachment", reference: "attachment-0" },
    ]);
  });

  it("adds new files behind those that came, each with a number of its own", async () => {
    const run = await alter([image, { type: "text", text: "New" }]);
    expect(run.input.contents).toEqual([
      { type: "attachment", reference: "attachment-1" },
      { type: "text", text: "New" },
      { type: "attachment", reference: "attachment-0" },
    ]);
    expect(run.input.attachments.map(({ reference, name }) => [reference, name])).toEqual([
      ["attachment-0", "table.csv"],
      ["attachment-1", "a.png"],
    ]);
    expect(run.attachments.map(({ index, name, state }) => [index, name, state])).toEqual([
      [0, "table.csv", "pending"],
      [1, "a.png", "pending"],
    ]);
    expect(run.attachmentSources[1]).toEqual({ kind: "url", url: "https://example.com/a.png" });
  });

  it("refuses a reference that is none of the message's, and the alteration with it", async () => {
    await expect(alter([{ type: "kept", reference: "attachment-7" }])).rejects.toMatchObject({
      code: "host.invalid_argument",
      message: 'The message has no attachment "attachment-7".',
    });
  });

  it("leaves the record that it was given as it was", async () => {
    const before = structuredClone(RUN);
    await alter([image]);
    expect(RUN).toEqual(before);
  });
});
