import { describe, expect, it } from "vitest";
import { EgressRules, isEgressEntry, readEgressTarget } from "../../../src/domain/egress-rules.js";

const rules = (allowHosts: readonly string[], privateHosts: readonly string[] = []) =>
  new EgressRules({ allowHosts, privateHosts });
const at = (host: string, port = 443) => ({ host, port });

describe("readEgressTarget", () => {
  it.each([
    ["Example.ORG:443", at("example.org")],
    ["example.org.:8080", at("example.org", 8080)],
    ["example.org", at("example.org", 80)],
    ["[2001:DB8::1]:443", at("2001:db8::1")],
    ["[::FFFF:127.0.0.1]", at("::ffff:7f00:1", 80)],
    ["127.1:80", at("127.0.0.1", 80)],
    ["0x7f.1", at("127.0.0.1", 80)],
    ["xn--bcher-kva.example", at("xn--bcher-kva.example", 80)],
  ])("reads %s as URLs do", (text, target) => {
    expect(readEgressTarget(text, 80)).toEqual(target);
  });

  it.each([
    "",
    ":80",
    "a b",
    "a/b",
    "user@host",
    "user:pw@host:80",
    "host:0",
    "host:65536",
    "host:123456",
    "host:",
    "::1",
    "[::1",
    "[zz::1]",
    "a%2eb",
    "b\u3002c",
    "300.1.1.1",
    ".",
    "host\n:80",
  ])("takes %j for no target", (text) => {
    expect(readEgressTarget(text, 80)).toBe(null);
  });

  it("wants a port where there is no usual one", () => {
    expect(readEgressTarget("host", null)).toBe(null);
    expect(readEgressTarget("host:1", null)).toEqual(at("host", 1));
  });
});

describe("EgressRules", () => {
  it("lets through the hosts on the list at the ports of the web", () => {
    const listed = rules(["Example.org", "203.0.113.7", "[2001:db8::1]"]);
    for (const host of ["example.org", "203.0.113.7", "2001:db8::1"]) {
      expect(listed.rule(at(host, 80))).toBe("public");
      expect(listed.rule(at(host, 443))).toBe("public");
      expect(listed.rule(at(host, 22))).toBe("port");
    }
    for (const host of ["www.example.org", "example.org.evil.test", "evilexample.org", "org"])
      expect(listed.rule(at(host))).toBe("host");
  });

  it("takes a leading dot for the name and all below it, on whole labels", () => {
    const listed = rules([".example.org"]);
    expect(listed.rule(at("example.org"))).toBe("public");
    expect(listed.rule(at("a.b.example.org"))).toBe("public");
    expect(listed.rule(at("evilexample.org"))).toBe("host");
  });

  it("lets through the port that an entry names, and only that for this entry", () => {
    const listed = rules(["a.test:8443", ".b.test:9000", "c.test", "c.test:22"]);
    expect(listed.rule(at("a.test", 8443))).toBe("public");
    expect(listed.rule(at("a.test"))).toBe("port");
    expect(listed.rule(at("x.b.test", 9000))).toBe("public");
    expect(listed.rule(at("c.test"))).toBe("public");
    expect(listed.rule(at("c.test", 22))).toBe("public");
  });

  it("lets through every host at the ports of the web without a list", () => {
    expect(rules([]).rule(at("any.test", 80))).toBe("public");
    expect(rules([]).rule(at("any.test", 25))).toBe("port");
  });

  it("knows private hosts by themselves, beside any list", () => {
    for (const allowed of [[], ["a.test"]]) {
      const listed = rules(allowed, ["db.test:5432", "wiki.test"]);
      expect(listed.rule(at("db.test", 5432))).toBe("private");
      expect(listed.rule(at("wiki.test", 80))).toBe("private");
      expect(listed.rule(at("x.wiki.test", 80))).not.toBe("private");
      expect(listed.rule(at("db.test", 5433))).not.toBe("public");
    }
  });

  it("takes no entry that names no host", () => {
    expect(isEgressEntry(".example.org:80")).toBe(true);
    expect(isEgressEntry("example.org:70000")).toBe(false);
    expect(() => rules(["a b"])).toThrow('"a b" is no host.');
  });
});
