import { describe, expect, it } from "vitest";
import { isPrivateAddress, isPublicAddress } from "../../../src/lib/address-rules.js";

describe("isPublicAddress", () => {
  it.each([
    "8.8.8.8",
    "93.184.216.34",
    "172.15.255.255",
    "172.32.0.1",
    "100.128.0.1",
    "2606:4700::1111",
    "2a00:1450::1",
  ])("takes %s as public", (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each([
    "0.0.0.0",
    "10.255.255.255",
    "100.64.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.168.0.1",
    "198.19.255.255",
    "203.0.113.7",
    "224.0.0.1",
    "255.255.255.255",
    "168.63.129.16",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2001:0:7f00:1::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "fc00::1",
    "fe80::1%eth0",
    "ff02::1",
    "localhost",
    "",
  ])("does not take %s as public", (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

describe("isPrivateAddress", () => {
  it.each([
    "10.0.0.1",
    "100.64.1.1",
    "127.0.0.1",
    "172.31.255.1",
    "192.168.0.1",
    "::1",
    "fd00::1",
    "fc00::1",
  ])("takes %s as private", (address) => {
    expect(isPrivateAddress(address)).toBe(true);
  });

  it.each([
    "8.8.8.8",
    "2606:4700::1111",
    "169.254.169.254",
    "168.63.129.16",
    "100.100.100.200",
    "fd00:ec2::254",
    "fe80::1",
    "0.0.0.0",
    "::",
    "224.0.0.1",
    "255.255.255.255",
    "::ffff:10.0.0.1",
    "64:ff9b::a00:1",
    "no address",
  ])("takes %s as something else", (address) => {
    expect(isPrivateAddress(address)).toBe(false);
  });
});
