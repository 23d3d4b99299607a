import { mkdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  type KnownManifests,
  type ScanResult,
  scanPackages,
} from "../../../../src/adapters/plugins/scan-packages.js";
import { type PackageText, writePackage } from "../../../support/plugin-directory.js";
import { withTempDir } from "../../../support/temp-dir.js";

const CALL = { signal: new AbortController().signal };
const GOOD: PackageText = { id: "acme/echo", entry: "export default {};", runners: { default: {} } };

async function scan(prepare: (root: string) => Promise<unknown>): Promise<ScanResult> {
  await using root = await withTempDir();
  await prepare(root.path);
  return await scanPackages(root.path, new Map(), CALL);
}

describe("scanPackages", () => {
  it("finds a package with all that it declares", async () => {
    const spec = {
      memory_mb: 128,
      tools: [{ name: "double", description: "Doubles." }],
      listens_to: ["message.received"],
      runners: [
        { kind: "AgentRunner", metadata: { name: "a" }, spec: { capabilities: { interrupt: true } } },
        7,
      ],
    };
    const { packages, warnings } = await scan((root) => writePackage(root, { ...GOOD, spec }));
    expect(warnings).toEqual([]);
    expect(packages).toMatchObject([
      {
        id: "acme/echo",
        version: "1.0.0",
        memoryMb: 128,
        tools: [{ name: "double", parameters: { type: "object", properties: {} } }],
        listensTo: ["message.received"],
        interruptible: new Set(["a"]),
      },
    ]);
    expect(packages[0]?.runnerManifests).toHaveLength(2);
  });

  it("finds nothing where there is no directory, and in directories without a manifest", async () => {
    expect(await scanPackages("/no/such/place", new Map(), CALL)).toEqual({ packages: [], warnings: [] });
    const empty = await scan((root) => mkdir(join(root, "notes")));
    expect(empty).toEqual({ packages: [], warnings: [] });
  });

  it("gives another revision when manifest or entry change", async () => {
    await using root = await withTempDir();
    const directory = await writePackage(root.path, GOOD);
    const revision = async () => (await scanPackages(root.path, new Map(), CALL)).packages[0]?.revision;
    const first = await revision();
    expect(await revision()).toBe(first);
    await writeFile(join(directory, "index.mjs"), "export default { runners: {} };");
    expect(await revision()).not.toBe(first);
  });

  it("reads a manifest again only when it has changed", async () => {
    await using root = await withTempDir();
    const known: KnownManifests = new Map();
    const version = async () => (await scanPackages(root.path, known, CALL)).packages[0]?.version;
    const directory = await writePackage(root.path, GOOD);
    expect(await version()).toBe("1.0.0");
    const [read] = known.values();
    await version();
    expect([...known.values()][0]?.manifest).toBe(read?.manifest);
    const manifest = await readFile(join(directory, "plugin.yaml"), "utf8");
    await writeFile(join(directory, "plugin.yaml"), manifest.replace("1.0.0", "2.0.0"));
    expect(await version()).toBe("2.0.0");
  });

  it("does not read a refused manifest again either, and refuses it as before", async () => {
    await using root = await withTempDir();
    const known: KnownManifests = new Map();
    const directory = await writePackage(root.path, GOOD);
    await writeFile(join(directory, "plugin.yaml"), "a: [1");
    const first = await scanPackages(root.path, known, CALL);
    const [read] = known.values();
    expect(await scanPackages(root.path, known, CALL)).toEqual(first);
    expect(first.warnings).toEqual([expect.stringContaining("plugin.yaml is not YAML")]);
    expect([...known.values()][0]?.manifest).toBe(read?.manifest);
  });

  const REFUSED: readonly [string, string, (root: string) => Promise<unknown>][] = [
    [
      "an entry outside of it",
      "outside",
      (root) => writePackage(root, { ...GOOD, spec: { entry: "../x.mjs" } }),
    ],
    [
      "an entry by an absolute path",
      "relative path",
      (root) => writePackage(root, { ...GOOD, spec: { entry: "/x.mjs" } }),
    ],
    [
      "an entry that is no module",
      "relative path",
      (root) => writePackage(root, { ...GOOD, spec: { entry: "run.sh" } }),
    ],
    [
      "an entry that is missing",
      "is missing",
      (root) => writePackage(root, { ...GOOD, spec: { entry: "no.mjs" } }),
    ],
    ["an entry that is a directory", "not a file", entryThatIs((path) => mkdir(path))],
    ["an entry that is a link", "a link", entryThatIs((path) => symlink("/etc/hostname", path))],
    ["an entry behind a link", "a link", entryBehindLink],
    [
      "a field that nobody knows",
      "Unrecognized key",
      (root) => writePackage(root, { ...GOOD, spec: { entrypoint: 1 } }),
    ],
    ["a name with a slash", "letters", (root) => writePackage(root, { ...GOOD, id: "acme/a b" })],
    [
      "a manifest that is a link",
      "plugin.yaml is a link",
      manifestThatIs((path) => symlink("/etc/hostname", path)),
    ],
    ["a manifest that is a directory", "not a file", manifestThatIs((path) => mkdir(path))],
    ["a manifest that is no YAML", "not YAML", manifestThatIs((path) => writeFile(path, "a: [1"))],
    [
      "a manifest that is too large",
      "limit is 262144",
      manifestThatIs((path) => writeFile(path, "#".repeat(300_000))),
    ],
    [
      "a manifest that costs too much to read",
      "nested more deeply",
      manifestThatIs((path) => writeFile(path, "[".repeat(200_000))),
    ],
    ["a place that is a link", "it is a link", (root) => symlink("/etc", join(root, "linked"))],
  ];

  it.each(REFUSED)("refuses %s, and keeps the packages beside it", async (_what, says, prepare) => {
    const { packages, warnings } = await scan(async (root) => {
      await writePackage(root, { ...GOOD, id: "zoo/other" });
      await prepare(root);
    });
    expect(packages.map(({ id }) => id)).toEqual(["zoo/other"]);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(says);
  });

  it("refuses a second package of the same name", async () => {
    const { packages, warnings } = await scan(async (root) => {
      await rename(await writePackage(root, GOOD), join(root, "second"));
      await writePackage(root, GOOD);
    });
    expect(packages).toHaveLength(1);
    expect(warnings).toMatchObject([expect.stringContaining('"acme/echo" is there already')]);
  });
});

function entryThatIs(make: (path: string) => Promise<unknown>): (root: string) => Promise<unknown> {
  return async (root) => {
    const directory = await writePackage(root, { ...GOOD, spec: { entry: "odd.mjs" } });
    await make(join(directory, "odd.mjs"));
  };
}

async function entryBehindLink(root: string): Promise<void> {
  const directory = await writePackage(root, { ...GOOD, spec: { entry: "link/index.mjs" } });
  await symlink(join(root, "zoo-other"), join(directory, "link"));
}

function manifestThatIs(make: (path: string) => Promise<unknown>): (root: string) => Promise<unknown> {
  return async (root) => {
    await mkdir(join(root, "odd"));
    await make(join(root, "odd", "plugin.yaml"));
  };
}
