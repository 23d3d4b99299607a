/**
 * A streamed answer in a ledger that does not grow with its square: a text event carries the whole text so far, so most
 * rows keep only what theirs adds, and stand on a row that keeps a whole snapshot, their keyframe.
 */
import { ServiceError } from "../../domain/errors.js";
import type { RunEvent } from "../../domain/run.js";

/** What a row costs besides its text, in characters. Counted too, it limits how many rows stand on a short keyframe. */
const ROW_CHARS = 64;

type EventData = RunEvent["data"];

/** What the writer of a run knows about the text it stored last. */
export interface DeltaTrail {
  /** Number of the run's newest event of any type; another number before the next event means that the trail is lost. */
  readonly sequence: number;
  readonly keyframe: number;
  readonly keyframeChars: number;
  /** Characters in rows since the keyframe, with `ROW_CHARS` for each. */
  readonly addedChars: number;
  /** The whole text so far. */
  readonly content: string;
}

/** An event as its row keeps it. */
export interface PackedEvent<Event extends Pick<RunEvent, "type" | "data" | "sequence"> = RunEvent> {
  readonly event: Event;
  /** Number of the keyframe that the text of this event is added to; null when the event is whole. */
  readonly keyframe: number | null;
}

/**
 * Shortens an event to what it adds, if the trail leads up to it. Texts are compared and cut as UTF-16, so a cut inside
 * a surrogate pair, and a surrogate alone, come back as they were.
 * @param trail as left by the event before; null when it is not known
 */
export function packEvent<Event extends Pick<RunEvent, "type" | "data" | "sequence">>(
  event: Event,
  trail: DeltaTrail | null,
): PackedEvent<Event> & { readonly trail: DeltaTrail | null } {
  const { data, sequence } = event;
  const known = trail?.sequence === sequence - 1 ? trail : null;
  const content = deltaContent(event);
  if (content === null)
    return { event, keyframe: null, trail: known === null ? null : { ...known, sequence } };
  if (known !== null && content.startsWith(known.content)) {
    const added = content.slice(known.content.length);
    const addedChars = known.addedChars + added.length + ROW_CHARS;
    if (addedChars <= known.keyframeChars)
      return {
        event: { ...event, data: withContent(data, added) },
        keyframe: known.keyframe,
        trail: { ...known, sequence, content, addedChars },
      };
  }
  const started = { sequence, keyframe: sequence, keyframeChars: content.length, addedChars: 0, content };
  return { event, keyframe: null, trail: started };
}

/** @returns the keyframe before this page of one run that is needed to unpack it; null when it stands alone */
export function keyframeBefore(page: readonly PackedEvent[]): number | null {
  const [first] = page;
  const keyframe = page.find((packed) => packed.keyframe !== null)?.keyframe ?? null;
  return first === undefined || keyframe === null || keyframe >= first.event.sequence ? null : keyframe;
}

/** A text, and the keyframe that it began with. */
export interface TextSoFar {
  readonly keyframe: number;
  readonly text: string;
}

/**
 * Goes back from the newest text to the one before this page, for readers that are close behind the writer.
 * @returns null when the trail does not end inside the page, or began with another keyframe
 */
export function textBefore(
  page: readonly PackedEvent[],
  keyframe: number,
  trail: DeltaTrail | null,
): TextSoFar | null {
  if (trail?.keyframe !== keyframe || !page.some(({ event }) => event.sequence === trail.sequence))
    return null;
  const added = page
    .filter((packed) => packed.keyframe === keyframe && packed.event.sequence <= trail.sequence)
    .reduce((chars, { event }) => chars + (deltaContent(event)?.length ?? 0), 0);
  return { keyframe, text: trail.content.slice(0, trail.content.length - added) };
}

/**
 * Makes the events of one run whole.
 * @param packed in order; before rows that stand on a keyframe come it and all others on it, unless `start` stands for them
 * @throws ServiceError `internal` when a keyframe is missing
 */
export function unpackEvents(
  packed: readonly PackedEvent[],
  start: TextSoFar | null = null,
): readonly RunEvent[] {
  let soFar = start;
  return packed.map(({ event, keyframe }) => {
    const content = deltaContent(event);
    if (keyframe === null) {
      if (content !== null) soFar = { keyframe: event.sequence, text: content };
      return event;
    }
    if (content === null || soFar?.keyframe !== keyframe)
      throw new ServiceError("internal", "A stored text event stands on a snapshot that is not there.");
    soFar = { keyframe, text: soFar.text + content };
    return { ...event, data: withContent(event.data, soFar.text) };
  });
}

function deltaContent({ type, data }: Pick<RunEvent, "type" | "data">): string | null {
  if (type !== "message.delta" || !isObject(data["chunk"])) return null;
  const content = data["chunk"]["content"];
  return typeof content === "string" ? content : null;
}

/** The order of the fields stays. */
function withContent(data: EventData, content: string): EventData {
  const chunk = data["chunk"];
  return isObject(chunk) ? { ...data, chunk: { ...chunk, content } } : data;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
