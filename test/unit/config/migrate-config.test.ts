import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../../../src/config/load-config.js";
import { type MigrateConfigOptions, migrateConfigFile } from "../../../src/config/migrate-config.js";

const OLD = `# Kept.
models: [{id: main, base_url: "http://models.example/v1", api_key: "\${KEY:-none}", model: m}]
pipelines:
  - id: default
    ai: {runner: {runner: local-agent}, local-agent: {model: main, max-round: 10}}
    output: {misc: {remove-think: true}}
  - {id: fresh}
`;
const CUSTOM = `pipelines:
  - {id: a, ai: {runner: {runner: local-agent}, local-agent: {}}}
  - {id: b, ai: {runner: {runner: local-agent}, local-agent: {box-session-id-template: "{sender_id}"}}}
`;

describe("migrateConfigFile", () => {
  let directory = "";
  let file = "";

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "berth-test-"));
    file = join(directory, "berth.yaml");
  });
  afterEach(async () => {
    await rm(directory, { recursive: true, force: true });
  });

  const migrate = async (text: string, options: Partial<MigrateConfigOptions> = {}) => {
    await writeFile(file, text);
    return migrateConfigFile(file, { confirmed: true, ...options });
  };

  it("only says what would change, until it is confirmed", async () => {
    const { exitCode, text } = await migrate(OLD, { confirmed: false });
    expect(exitCode).toBe(0);
    expect(text).toContain("pipelines[0] (default): max-round is removed.");
    expect(text).toContain("Write it with --confirm.");
    expect(await readFile(file, "utf8")).toBe(OLD);
    expect(await readdir(directory)).toEqual(["berth.yaml"]);
  });

  it("writes the file anew, keeps comments and references, and the old one beside it", async () => {
    const { exitCode } = await migrate(OLD);
    expect(exitCode).toBe(0);
    const written = await readFile(file, "utf8");
    expect(written).toContain("# Kept.");
    expect(written).toContain("${KEY:-none}");
    expect(written).not.toMatch(/max-round|output|[&*]a1/);
    expect(await readFile(`${file}.bak`, "utf8")).toBe(OLD);
    expect((await readdir(directory)).toSorted()).toEqual(["berth.yaml", "berth.yaml.bak"]);
    expect(loadConfig({ environment: {}, workingDirectory: directory, file })).toMatchObject({ ok: true });
    expect((await migrateConfigFile(file, { confirmed: true })).text).toBe(`${file}: nothing to migrate.\n`);
  });

  it("writes no old keys where the file says so", async () => {
    await migrate(`${OLD}compat: {write_legacy_keys: false}\n`);
    expect(await readFile(file, "utf8")).not.toMatch(/\bai:/);
  });

  it("gives the new file the rights of the old one, and follows a link to it", async () => {
    await writeFile(file, OLD);
    await chmod(file, 0o600);
    const link = join(directory, "link.yaml");
    await symlink(file, link);
    expect((await migrateConfigFile(link, { confirmed: true })).exitCode).toBe(0);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(`${file}.bak`)).mode & 0o777).toBe(0o600);
    expect(await readFile(link, "utf8")).toContain("serial");
  });

  it("never writes over a backup", async () => {
    await writeFile(`${file}.bak`, "older");
    const { exitCode, text } = await migrate(OLD);
    expect([exitCode, await readFile(file, "utf8")]).toEqual([78, OLD]);
    expect(text).toContain("Move it away first.");
    expect(await readFile(`${file}.bak`, "utf8")).toBe("older");
  });

  it("stops all of it where one template has to be decided", async () => {
    const { exitCode, text } = await migrate(CUSTOM);
    expect(exitCode).toBe(78);
    expect(text).toContain("pipelines[1] (b): stopped:");
    expect(text).toContain("--templates keep");
    expect(await readFile(file, "utf8")).toBe(CUSTOM);
    expect((await migrate(CUSTOM, { template: "keep" })).exitCode).toBe(0);
    expect(await readFile(file, "utf8")).toContain("{sender_id}");
  });

  it.each([
    ["pipelines: [", "not valid YAML"],
    [
      "pipelines: [{id: a, ai: &x {runner: {runner: local-agent}, local-agent: {}}}, {id: b, ai: *x}, *x]",
      "",
    ],
  ])("leaves alone what it cannot read: %s", async (text, said) => {
    const done = await migrate(text, { confirmed: false });
    expect(done.text).toContain(said);
    expect(await readFile(file, "utf8")).toBe(text);
  });

  it.each([
    "pipelines: [{id: a, ai: &x {runner: {runner: local-agent}, local-agent: {}}}]\nrest: *x\n",
    "rest: &x [{id: a, ai: {runner: {runner: local-agent}, local-agent: {}}}]\npipelines: *x\n",
  ])("says where anchors cannot be kept: %s", async (text) => {
    const done = await migrate(text);
    expect(done).toMatchObject({ exitCode: 78 });
    expect(done.text).toContain("anchors");
    expect(await readFile(file, "utf8")).toBe(text);
    expect(await readdir(directory)).toEqual(["berth.yaml"]);
  });

  it.each(["", "[]", "pipelines: {}", "server: {}"])("finds nothing to do in %j", async (text) => {
    expect(await migrate(text)).toEqual({ exitCode: 0, text: `${file}: nothing to migrate.\n` });
  });

  it("says that there is no file", async () => {
    expect(await migrateConfigFile(join(directory, "none.yaml"), { confirmed: true })).toMatchObject({
      exitCode: 78,
    });
  });
});
