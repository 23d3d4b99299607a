/** Puts what a package made of a message in the place of what the user wrote (runs §8.3). */
import { ServiceError } from "../domain/errors.js";
import type { ContentItem } from "../domain/event.js";
import type { CallOptions } from "../ports/options.js";
import type { RunRecord } from "../ports/run-store.js";
import type { AlteredContent } from "./plugin-answer.js";
import { type PrepareDeps, prepareInput } from "./prepare-input.js";
import type { IncomingContent } from "./run-request.js";

/**
 * A text replaces the words, a list all contents in its order. Files that came with the message stay with it, whether
 * they are named or not: nothing that a user sent is lost. New files of the list are added to them.
 * @throws ServiceError `host.invalid_argument` for a reference that is none of the message's
 */
export async function alterInput(
  deps: PrepareDeps,
  { run, altered }: { readonly run: RunRecord; readonly altered: string | readonly AlteredContent[] },
  options: CallOptions,
): Promise<RunRecord> {
  if (typeof altered === "string") return withContents(run, altered, []);
  const known = new Set(run.input.attachments.map(({ reference }) => reference));
  for (const item of altered)
    if (item.type === "kept" && !known.has(item.reference)) throw unknownReference(item.reference);
  const grown = await addFiles(deps, { run, contents: altered.filter(isFile) }, options);
  const added = grown.input.attachments.slice(run.input.attachments.length);
  let next = 0;
  const contents = altered.flatMap((item): ContentItem[] => {
    if (item.type === "text") return [item];
    if (item.type === "kept") return [{ type: "attachment", reference: item.reference }];
    const file = added[next++];
    return file === undefined ? [] : [{ type: "attachment", reference: file.reference }];
  });
  return withContents(grown, null, contents);
}

/** Files that `contents` does not name come after it. */
function withContents(run: RunRecord, text: string | null, contents: readonly ContentItem[]): RunRecord {
  const named = new Set(contents.map((item) => (item.type === "attachment" ? item.reference : null)));
  const rest = run.input.attachments
    .filter(({ reference }) => !named.has(reference))
    .map(({ reference }): ContentItem => ({ type: "attachment", reference }));
  return { ...run, input: { ...run.input, text, contents: [...contents, ...rest] } };
}

/** New files follow those of the message, in numbers and in references. */
async function addFiles(
  deps: PrepareDeps,
  { run, contents }: { readonly run: RunRecord; readonly contents: readonly IncomingContent[] },
  options: CallOptions,
): Promise<RunRecord> {
  const { tenant, input } = run;
  const first = input.attachments.length;
  const prepared = await prepareInput(deps, { tenant, text: null, contents }, options);
  const attachments = prepared.input.attachments.map((attachment, index) => ({
    ...attachment,
    reference: `attachment-${first + index}`,
  }));
  const outcomes = prepared.outcomes.map((outcome) => ({ ...outcome, index: first + outcome.index }));
  return {
    ...run,
    input: { ...input, attachments: [...input.attachments, ...attachments] },
    attachments: [...run.attachments, ...outcomes],
    attachmentSources: [...run.attachmentSources, ...prepared.sources],
  };
}

function isFile(item: AlteredContent): item is Extract<IncomingContent, { type: "attachment" }> {
  return item.type === "attachment";
}

function unknownReference(reference: string): ServiceError {
  return new ServiceError(
    "host.invalid_argument",
    `The message has no attachment "${reference.slice(0, 100)}".`,
  );
}
