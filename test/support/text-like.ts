import { expect } from "vitest";

/** `expect.stringMatching` with a type that the type-aware linter takes. */
export const textLike = (pattern: RegExp): unknown => expect.stringMatching(pattern);
