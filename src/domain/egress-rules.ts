/** Which hosts and ports boxes may reach, decided before any name is looked up (box §10.6, security §5). Pure. */

/** Where a connection is to go. */
export interface EgressTarget {
  /** Name or address as URLs spell it: lower case, without brackets and closing dot. */
  readonly host: string;
  readonly port: number;
}

export type EgressRuling =
  /** Every address of it must be a public one. */
  | "public"
  /** The operator listed it by itself: its addresses may be private ones too. */
  | "private"
  /** Not on the list. */
  | "host"
  /** Neither 80 nor 443, and not listed. */
  | "port";

export interface EgressLists {
  /** `name`, `.name` (the name and all below it) or an address, each optionally with `:port`; empty = any host. */
  readonly allowHosts: readonly string[];
  /** `name` or address, optionally with `:port`. */
  readonly privateHosts: readonly string[];
}

/** The form of an entry; a leading dot is for names. */
export const EGRESS_ENTRY =
  /^(?:\.?[A-Za-z0-9_][A-Za-z0-9._-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?$/u;
/** The form of an entry for one host only. */
export const EGRESS_HOST = /^(?:[A-Za-z0-9_][A-Za-z0-9._-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?$/u;

/** Ports of an entry that names none. */
const WEB_PORTS: readonly number[] = [80, 443];
const AUTHORITY = /^(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,254})(?::([0-9]{1,5}))?$/u;
const LARGEST_PORT = 65_535;

/**
 * Reads `host` or `host:port` as it stands in a request: nothing but a name or an address, never user info.
 * @param standardPort for a text that names none; null = it must
 * @returns null for what is none
 */
export function readEgressTarget(text: string, standardPort: number | null): EgressTarget | null {
  const [, rawHost, digits] = AUTHORITY.exec(text) ?? [];
  const port = digits === undefined ? standardPort : Number(digits);
  if (rawHost === undefined || port === null || port < 1 || port > LARGEST_PORT) return null;
  const url = `http://${rawHost}/`;
  if (!URL.canParse(url)) return null;
  const host = new URL(url).hostname.replace(/^\[|\]$/gu, "").replace(/\.$/u, "");
  return host === "" ? null : { host, port };
}

/** Whether a text of the right form names a host that there can be. */
export function isEgressEntry(text: string): boolean {
  return readEgressTarget(text.replace(/^\./u, ""), WEB_PORTS[0] ?? null) !== null;
}

interface Entry {
  readonly host: string;
  readonly isSuffix: boolean;
  readonly ports: readonly number[];
}

export class EgressRules {
  readonly #allowed: readonly Entry[];
  readonly #private: readonly Entry[];

  /** @throws Error for an entry of another form */
  constructor({ allowHosts, privateHosts }: EgressLists) {
    this.#allowed = allowHosts.map(readEntry);
    this.#private = privateHosts.map(readEntry);
  }

  rule(target: EgressTarget): EgressRuling {
    if (this.#private.some((entry) => isHost(entry, target) && isPort(entry, target))) return "private";
    const { port } = target;
    if (this.#allowed.length === 0) return WEB_PORTS.includes(port) ? "public" : "port";
    const named = this.#allowed.filter((entry) => isHost(entry, target));
    if (named.length === 0) return "host";
    return named.some((entry) => isPort(entry, target)) ? "public" : "port";
  }
}

function readEntry(text: string): Entry {
  const isSuffix = text.startsWith(".");
  const entry = isSuffix ? text.slice(1) : text;
  const hasPort = /:[0-9]{1,5}$/u.test(entry) && !entry.endsWith("]");
  const target = readEgressTarget(entry, WEB_PORTS[0] ?? null);
  if (target === null) throw new Error(`${JSON.stringify(text)} is no host.`);
  return { host: target.host, isSuffix, ports: hasPort ? [target.port] : WEB_PORTS };
}

function isHost({ host, isSuffix }: Entry, target: EgressTarget): boolean {
  return target.host === host || (isSuffix && target.host.endsWith(`.${host}`));
}

function isPort({ ports }: Entry, { port }: EgressTarget): boolean {
  return ports.includes(port);
}
