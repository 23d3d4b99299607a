/** From a target to addresses that may be connected to: looked up once, every answer checked (security §10). */
import { lookup, Resolver } from "node:dns/promises";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { networkInterfaces } from "node:os";
import type { EgressTarget } from "../../domain/egress-rules.js";
import { isPrivateAddress, isPublicAddress } from "../../lib/address-rules.js";
import type { CallOptions } from "../../ports/options.js";

/** Every address of a name; an unknown name rejects. */
export type ResolveName = (name: string, options: CallOptions) => Promise<readonly string[]>;

const RESOLVER = { timeout: 3000, tries: 2 };

export interface Resolvers {
  /** For names that a box chooses. */
  readonly anyName: ResolveName;
  /** For names that the operator chose. */
  readonly listedName: ResolveName;
  /** Of this machine, as they are at the time; for a box they are the host whatever their range. */
  readonly ownAddresses: () => readonly string[];
}

/**
 * Names of a box are asked for over the network alone: the system's own look-up keeps a thread of the service busy, and
 * slow names would stop everything else. Names of the operator may also stand in the hosts file.
 */
export const SYSTEM_RESOLVERS: Resolvers = {
  anyName: askNameServers,
  listedName: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
  ownAddresses: () =>
    Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address)),
};

/**
 * @param isListed whether the operator listed the host by itself
 * @returns null when it has no address, or one that must not be connected to
 */
export async function findAddresses(
  { host }: EgressTarget,
  of: { readonly isListed: boolean; readonly resolvers: Resolvers },
  options: CallOptions,
): Promise<readonly string[] | null> {
  const { anyName, listedName, ownAddresses } = of.resolvers;
  const resolve = of.isListed ? listedName : anyName;
  const addresses = isIP(host) === 0 ? await orNone(resolve(host, options)) : [host];
  const own = of.isListed ? new BlockList() : listOf(ownAddresses());
  const isFit = (address: string): boolean =>
    (isPublicAddress(address) && !own.check(address, familyOf(address))) ||
    (of.isListed && isPrivateAddress(address));
  return addresses.length > 0 && addresses.every(isFit) ? addresses : null;
}

/** Gives a connection the addresses that were checked; a second look-up could answer others. */
export function answerWith(addresses: readonly string[]): LookupFunction {
  const answers = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_name, options, callback) => {
    const [first] = answers;
    if (options.all === true || first === undefined) callback(null, answers);
    else callback(null, first.address, first.family);
  };
}

async function orNone(work: Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await work;
  } catch {
    return [];
  }
}

async function askNameServers(name: string, { signal }: CallOptions): Promise<readonly string[]> {
  const resolver = new Resolver(RESOLVER);
  const stop = (): void => resolver.cancel();
  signal.addEventListener("abort", stop, { once: true });
  try {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Compares addresses, not their spelling. */
function listOf(addresses: readonly string[]): BlockList {
  const list = new BlockList();
  for (const address of addresses) list.addAddress(address, familyOf(address));
  return list;
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 4 ? "ipv4" : "ipv6";
}
