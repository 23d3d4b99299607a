/** Headers that the broker adds for one host, which no box sees; and how they are taken out of what comes back. */
import { Transform } from "node:stream";
import { type EgressTarget, readEgressTarget } from "../../domain/egress-rules.js";
import { SecretMask } from "../../lib/secret-mask.js";

export interface SecretHeader {
  /** `name` or address, optionally with `:port`; 80 if not given. */
  readonly host: string;
  readonly header: string;
  readonly value: string;
}

/** What is added to requests for one host. */
export interface HostSecrets {
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly mask: SecretMask;
}

const HTTP_PORT = 80;

export class SecretHeaders {
  readonly #hosts = new Map<string, HostSecrets>();

  constructor(list: readonly SecretHeader[]) {
    const byHost = new Map<string, SecretHeader[]>();
    for (const entry of list) {
      const target = readEgressTarget(entry.host, HTTP_PORT);
      if (target === null) throw new Error(`${JSON.stringify(entry.host)} is no host.`);
      byHost.set(keyOf(target), [...(byHost.get(keyOf(target)) ?? []), entry]);
    }
    for (const [key, entries] of byHost)
      this.#hosts.set(key, {
        headers: new Map(entries.map(({ header, value }) => [header.toLowerCase(), value])),
        mask: new SecretMask(entries.flatMap(({ value }) => formsOf(value))),
      });
  }

  /** @returns null for a host without secrets */
  of(target: EgressTarget): HostSecrets | null {
    return this.#hosts.get(keyOf(target)) ?? null;
  }
}

/** Takes secrets out of a body that passes through; its length may change. */
export function maskBody(mask: SecretMask): Transform {
  const masking = mask.byteStream();
  return new Transform({
    transform: (chunk: Uint8Array, _encoding, done) => done(null, masking.push(chunk)),
    flush: (done) => done(null, masking.end()),
  });
}

function keyOf({ host, port }: EgressTarget): string {
  return `${host} ${port}`;
}

/** Takes secrets out of headers; one whose name holds a secret is left out, because no masked name is a name. */
export function maskHeaders(
  mask: SecretMask,
  headers: Readonly<Record<string, string[]>>,
): Record<string, string[]> {
  const named = Object.entries(headers).filter(([name]) => mask.text(name) === name);
  return mask.value(Object.fromEntries(named));
}

/**
 * As it stands in the header, without its scheme, decoded, the password by itself, and as an address or a JSON text would
 * hold it.
 */
function formsOf(value: string): readonly string[] {
  const credentials = /^\S+ +(\S+)$/u.exec(value)?.[1] ?? value;
  const decoded = /^Basic /iu.test(value) ? readBasic(credentials) : [];
  const plain = [value, credentials, ...decoded];
  return plain.flatMap((form) => [form, encodeURIComponent(form), JSON.stringify(form).slice(1, -1)]);
}

/** `user:password` and `password`. */
function readBasic(credentials: string): readonly string[] {
  const text = Buffer.from(credentials, "base64").toString("utf8");
  return [text, text.slice(text.indexOf(":") + 1)];
}
