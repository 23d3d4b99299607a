/** Which settings are faulty by themselves: what lies between others can still be checked. */
import type { Settings } from "./config-schema.js";
import { isGroup } from "./group.js";

/** A section, or one setting of it. */
export type BrokenPlace = readonly [section: string, name?: string];

/** What a check reads: a whole section, or one setting of it. */
export type Part = keyof Settings | `${keyof Settings}.${string}`;

export class BrokenParts {
  readonly #places: readonly BrokenPlace[];

  constructor(places: readonly BrokenPlace[]) {
    this.#places = places;
  }

  /** Whether a check that reads these parts sees what the operator has written. */
  areSound(parts: readonly Part[]): boolean {
    return parts.every((part) => !this.#places.some((place) => touches(place, part)));
  }

  /** The settings without what is broken. */
  leaveOut(settings: Readonly<Record<string, unknown>>): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(settings)
        .filter(([section]) => !this.#isBroken([section]))
        .map(([section, value]) => [section, this.#leaveOutOf(section, value)]),
    );
  }

  #leaveOutOf(section: string, value: unknown): unknown {
    if (!isGroup(value)) return value;
    return Object.fromEntries(Object.entries(value).filter(([name]) => !this.#isBroken([section, name])));
  }

  #isBroken([section, name]: BrokenPlace): boolean {
    return this.#places.some(([first, second]) => first === section && second === name);
  }
}

/** A section is sound only as a whole. */
function touches([section, name]: BrokenPlace, part: Part): boolean {
  if (part === section) return true;
  return part.startsWith(`${section}.`) && (name === undefined || part === `${section}.${name}`);
}
