/** Which URLs may be fetched, decided before any name is looked up (security §10). */
import { isIPv6 } from "node:net";
import { ServiceError } from "../../domain/errors.js";

/** Ports that the fetch standard blocks: other protocols than HTTP listen there. */
const BLOCKED_PORTS = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
  3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10_080,
]);

/** The protocols that are fetched. */
const STANDARD_PORTS: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };

export interface Target {
  readonly url: URL;
  /** Name or address without brackets and closing dot. */
  readonly host: string;
  readonly port: number;
}

/** The same words for every refusal, so that nobody learns what exists behind an address. */
export function refusal(): ServiceError {
  return new ServiceError(
    "outbound.refused",
    "The address cannot be fetched: it is no public http or https address, or its name does not resolve.",
    { hint: "Use a public address, or ask the operator to list the host in outbound.allowed_private_hosts." },
  );
}

/** @throws ServiceError `outbound.refused` */
export function readTarget(text: string, base?: URL): Target {
  if (!URL.canParse(text, base?.href)) throw refusal();
  const url = new URL(text, base?.href);
  const standardPort = STANDARD_PORTS[url.protocol];
  const host = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (standardPort === undefined || host === "" || `${url.username}${url.password}` !== "") throw refusal();
  const port = url.port === "" ? standardPort : Number(url.port);
  if (BLOCKED_PORTS.has(port)) throw refusal();
  return { url, host, port };
}

/** Hosts that the operator listed: exempt from the rule on addresses, and from nothing else. */
export class AllowedHosts {
  readonly #entries: ReadonlySet<string>;

  /** @param entries `host` (any port) or `host:port` */
  constructor(entries: readonly string[]) {
    this.#entries = new Set(entries.map(normaliseEntry));
  }

  has({ host, port }: Target): boolean {
    return this.#entries.has(host) || this.#entries.has(`${host} ${port}`);
  }
}

function normaliseEntry(entry: string): string {
  if (isIPv6(entry)) return normaliseHost(`[${entry}]`);
  const [, host = entry, port] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
  return port === undefined ? normaliseHost(host) : `${normaliseHost(host)} ${Number(port)}`;
}

/** As URLs spell it, so that both compare equal. */
function normaliseHost(host: string): string {
  const text = `http://${host}/`;
  const name = URL.canParse(text) ? new URL(text).hostname : host.toLowerCase();
  return name.replace(/^\[|\]$/g, "").replace(/\.$/, "");
}
