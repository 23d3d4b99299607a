/** What a runner may say when it acquires a box: a key, its template, and an image where the operator allows some (box §4.1). */
import type { BoxSettings } from "../domain/box.js";
import { ServiceError } from "../domain/errors.js";
import { settingsFingerprint } from "./box-policy.js";
import { plainReuseKey, type ReuseKey, readReuseKey, renderReuseKey } from "./reuse-key.js";

export interface AcquireRules {
  readonly tenant: string;
  /** Images that may be named besides the operator's own choice. */
  readonly images: readonly string[];
  /** The one key that may be used; null = any. */
  readonly requiredKey: string | null;
}

export interface AcquireRequest {
  readonly key: ReuseKey;
  /** Null = the operator's choice. */
  readonly image: string | null;
}

const FIELDS: ReadonlySet<string> = new Set(["reuse_key", "template", "options"]);
const OPTIONS: ReadonlySet<string> = new Set(["image"]);

/**
 * @param request `{reuse_key, template?, options?: {image?}}`; nothing else is taken
 * @throws ServiceError `box.validation` naming the field, `box.forbidden` for an image that is not allowed,
 * `session.template_invalid`
 */
export function readAcquireRequest(request: unknown, rules: AcquireRules): AcquireRequest {
  const fields = readFields(request, FIELDS, "request");
  const options = readFields(fields.get("options") ?? {}, OPTIONS, "options");
  const key = readText(fields.get("reuse_key") ?? "", "reuse_key");
  const template = fields.get("template");
  const image = options.get("image");
  return {
    key:
      template === undefined
        ? plainReuseKey(key, rules.tenant)
        : keyOf(readText(template, "template"), key, rules),
    image: image === undefined ? null : allowImage(readText(image, "image"), rules),
  };
}

/**
 * The settings of a session's box: with the image that is asked for, else the one it has been acquired with, else the
 * operator's.
 * @param known fingerprint of the settings its container was made with; null = it has none
 */
export function chooseSettings(
  own: BoxSettings,
  images: readonly string[],
  of: { readonly image?: string | null | undefined; readonly known: string | null },
): BoxSettings {
  if (typeof of.image === "string") return { ...own, image: of.image };
  const others = images.map((image) => ({ ...own, image }));
  return others.find((settings) => settingsFingerprint(settings) === of.known) ?? own;
}

function readFields(value: unknown, known: ReadonlySet<string>, param: string): ReadonlyMap<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new ServiceError("box.validation", `The ${param} of an acquire is not a group of fields.`, {
      param,
    });
  const fields = new Map(Object.entries(value));
  const odd = [...fields.keys()].find((name) => !known.has(name));
  if (odd === undefined) return fields;
  throw new ServiceError("box.validation", `A run cannot choose "${odd.slice(0, 100)}" of its box.`, {
    hint: `An acquire takes ${[...known].join(", ")}; the operator sets everything else.`,
    param: odd.slice(0, 100),
  });
}

function readText(value: unknown, param: string): string {
  if (typeof value === "string") return value;
  throw new ServiceError("box.validation", `The ${param} of an acquire is not a text.`, { param });
}

/** The identity holds the template too, so the key has to be one of its own. */
function keyOf(template: string, key: string, { tenant }: AcquireRules): ReuseKey {
  const values = readReuseKey(template, key);
  const rendered = values === null ? null : renderReuseKey(template, Object.fromEntries(values), tenant);
  if (rendered?.key === key) return rendered;
  throw new ServiceError("box.validation", "The reuse key was not rendered from the template.", {
    hint: "Send the template that the key came from, or the key alone.",
    param: "reuse_key",
  });
}

function allowImage(image: string, { images, requiredKey }: AcquireRules): string {
  if (requiredKey !== null)
    throw new ServiceError("box.forbidden", "No image can be chosen for the box that all runs share.", {
      hint: "Acquire it without an image; the operator requires its key (boxes.required_reuse_key).",
      param: "image",
    });
  if (images.includes(image)) return image;
  throw new ServiceError("box.forbidden", `The image "${image.slice(0, 100)}" is not allowed.`, {
    hint: "Acquire the box without an image, or ask the operator to list it in boxes.allowed_images.",
    param: "image",
  });
}
