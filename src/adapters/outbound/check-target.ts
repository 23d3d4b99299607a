/** Which addresses a target may be reached at, decided after its name was looked up (security §10). */
import { lookup as systemLookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { isPublicAddress } from "../../lib/address-rules.js";
import { type AllowedHosts, refusal, type Target } from "./url-rules.js";

/** Every address of a name; an unknown name rejects. */
export type Resolve = (name: string) => Promise<readonly string[]>;

export async function resolveBySystem(name: string): Promise<readonly string[]> {
  const answers = await systemLookup(name, { all: true });
  return answers.map(({ address }) => address);
}

/**
 * @returns addresses that may be connected to; one bad address among the answers refuses the name
 * @throws ServiceError `outbound.refused`
 */
export async function checkTarget(
  target: Target,
  { allowed, resolve }: { readonly allowed: AllowedHosts; readonly resolve: Resolve },
): Promise<readonly string[]> {
  const addresses = isIP(target.host) === 0 ? await lookUp(target.host, resolve) : [target.host];
  const mayConnect = allowed.has(target) || addresses.every(isPublicAddress);
  if (addresses.length === 0 || !mayConnect) throw refusal();
  return addresses;
}

async function lookUp(name: string, resolve: Resolve): Promise<readonly string[]> {
  try {
    return await resolve(name);
  } catch {
    throw refusal();
  }
}

/** Gives the connection the addresses that were checked; a second look-up could answer others. */
export function answerWith(addresses: readonly string[]): LookupFunction {
  const answers = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_name, options, callback) => {
    const [first] = answers;
    if (options.all === true || first === undefined) callback(null, answers);
    else callback(null, first.address, first.family);
  };
}
