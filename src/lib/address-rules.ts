/** Which addresses may be connected to for others (security §10). What is not known to be public, or private, is not. */
import { BlockList, isIP } from "node:net";

const SPECIAL_V4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
  // Metadata and control service of a cloud, in a public range.
  ["168.63.129.16", 32],
] as const;

/** Only global unicast can be public; what is special inside of it carries other addresses or none. */
const GLOBAL_V6 = ["2000::", 3] as const;
const SPECIAL_V6 = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const;

/** Networks of an organisation, and the machine itself. */
const PRIVATE_V4 = [
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
] as const;
const PRIVATE_V6 = [
  ["::1", 128],
  ["fc00::", 7],
] as const;
/** Metadata services of clouds inside of private ranges; others have link-local addresses. */
const METADATA = ["100.100.100.200", "fd00:ec2::254"];

const specialV4 = new BlockList();
for (const [net, prefix] of SPECIAL_V4) specialV4.addSubnet(net, prefix, "ipv4");
const globalV6 = new BlockList();
globalV6.addSubnet(...GLOBAL_V6, "ipv6");
const specialV6 = new BlockList();
for (const [net, prefix] of SPECIAL_V6) specialV6.addSubnet(net, prefix, "ipv6");

const privateAddresses = new BlockList();
for (const [net, prefix] of PRIVATE_V4) privateAddresses.addSubnet(net, prefix, "ipv4");
for (const [net, prefix] of PRIVATE_V6) privateAddresses.addSubnet(net, prefix, "ipv6");
const metadata = new BlockList();
for (const address of METADATA) metadata.addAddress(address, isIP(address) === 4 ? "ipv4" : "ipv6");

/** @param address An address literal as a resolver answers it, without brackets. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !specialV4.check(address, "ipv4");
    case 6:
      return globalV6.check(address, "ipv6") && !specialV6.check(address, "ipv6");
    default:
      return false;
  }
}

/**
 * Whether it is in a private network or this machine's own: never a link-local one, one of metadata, or one that carries
 * another address.
 * @param address An address literal as a resolver answers it, without brackets.
 */
export function isPrivateAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 0 || /^::ffff:/iu.test(address)) return false;
  const family = version === 4 ? "ipv4" : "ipv6";
  return privateAddresses.check(address, family) && !metadata.check(address, family);
}
