/** The numbers of the helper's protocol (box-image/boxd/src/protocol.h). */

export const PROTOCOL = 1;
export const HEADER_BYTES = 12;
export const MAX_PAYLOAD_BYTES = 65_536;
/** A request may come in several frames; together they stay below this. */
export const MAX_REQUEST_BYTES = 1024 * 1024;
/** Flag of a frame whose request goes on in the next one. */
export const FLAG_MORE = 1;
/** Index of a fault that is about the request as a whole. */
export const INDEX_WHOLE = 0xff_ff_ff_ff;

/** What the helper can do beside the rest: relay connections. */
export const FEATURE_RELAY = 8;
/** Bytes that may be on their way of one relayed connection, each way, headers included. */
export const RELAY_WINDOW_BYTES = 131_072;
/** Connections that the box opens have ids from here on; ours are below. */
export const FIRST_RELAYED_ID = 0x80_00_00_00;

/** What the service says. */
export const SAY = {
  hello: 0x01,
  ping: 0x02,
  credit: 0x03,
  cancel: 0x04,
  data: 0x05,
  end: 0x06,
  kill: 0x07,
  resize: 0x09,
} as const;

/** What the service asks for. */
export const ASK = {
  spawn: 0x10,
  stat: 0x11,
  list: 0x12,
  read: 0x13,
  write: 0x14,
  remove: 0x15,
  reset: 0x16,
  relay: 0x1d,
} as const;

/** What the helper says. */
export const HEAR = {
  hello: 0x81,
  pong: 0x82,
  credit: 0x83,
  error: 0x84,
  done: 0x85,
  fault: 0x86,
  started: 0x87,
  stdout: 0x88,
  stderr: 0x89,
  exit: 0x8a,
  entry: 0x8b,
  bytes: 0x8c,
  finished: 0x8d,
  entries: 0x8e,
  listed: 0x8f,
  processes: 0x90,
  usage: 0x91,
  tar: 0x92,
  relaying: 0x93,
  opened: 0x94,
  received: 0x95,
  ended: 0x96,
} as const;

type Numbers<Table extends Record<string, number>> = Table[keyof Table];
export type SayType = Numbers<typeof SAY>;
export type AskType = Numbers<typeof ASK>;
export type HearType = Numbers<typeof HEAR>;

/** How a request ended. */
export const DONE = { complete: 0, cancelled: 1, lost: 2, refused: 3 } as const;
/** How a command's standard input is served; without either it is empty. */
export const SPAWN_INPUT = 1;
export const SPAWN_TERMINAL = 2;
/** TERM to the whole tree. */
export const KILL_TERM = 1;
export const KILL_TREE = 2;
/** Output that is still to come is not wanted. */
export const KILL_DISCARD = 1;
