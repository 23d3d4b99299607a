/**
 * What a hostile box may put into its outbox, one entry of each kind, each exported by a call of its own: the right answer
 * for every kind, and no byte of the host anywhere (box §6, §8.3).
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { z } from "zod";
import type { Run } from "../../src/domain/run.js";
import type { ChatRequest } from "../../src/ports/chat-model.js";
import { calls } from "../fakes/scripted-model.js";
import { lastToolResults, late, outboxOf, runs, says } from "../support/agent-script.js";
import type { ServedBy } from "../support/engine.js";
import { readStream } from "../support/read-events.js";
import { chatMessage, serviceForAll } from "../support/shared-service.js";

const LIMIT = 65_536;

/** Kind, name and content of files that are delivered as they are. */
const HONEST: readonly (readonly [kind: string, name: string, content: string])[] = [
  ["a plain file", "report.txt", "hello"],
  ["an empty file", "empty.bin", ""],
  ["letters of other scripts", "报告 é.txt", "own"],
  ["a name like an option", "-rf", "own"],
  ["a file in directories", "sub/deep/x.csv", "own"],
  ["a hidden file", ".env", "own"],
  ["shell characters", "a;touch PWN;$(id)`id`&|.txt", "own"],
  ["quotes", "a\"b'c.txt", "own"],
  ["a page with a script", "x.html", "<script>alert(1)</script>"],
  ["a picture with a script", "x.svg", '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'],
  ["a page under a picture's name", "fake.png", "<html><script>1</script>"],
  ["255 bytes of name", `${"n".repeat(251)}.txt`, "own"],
  ["a composed accent", "caf\u00e9", "composed"],
  ["its decomposed twin", "cafe\u0301", "decomposed"],
  ["a set-user-id file", "suid", "own"],
  ["exactly the limit", "limit.bin", "x".repeat(LIMIT)],
];

/** Kind and name of files that are refused, or delivered under a name that was cleaned. */
const ODD: readonly (readonly [kind: string, name: string])[] = [
  ["a line break", "a\nb.txt"],
  ["a header", "a\r\nSet-Cookie: x=1.txt"],
  ["a terminal sequence", "\u001b[2Jx.txt"],
  ["a reversed name", "invoice\u202efdp.exe"],
  ["signs without width", "a\u200b\ufeff.txt"],
  ["back slashes", "..\\..\\win.ini"],
];

/** Kind, what makes it (Python, in the outbox), path below the outbox or absolute, and why it is refused. */
type Refused = readonly [kind: string, make: string, path: string, because: RegExp];

const LINK = /it is a link/;
const LINKED_PART = /part of the path is a link/;
const LINKS: readonly Refused[] = [
  ["a link to a file of the system", "os.symlink('/etc/passwd', 'l1')", "l1", LINK],
  ["a link to a file of the host", "os.symlink(CANARY, 'l2')", "l2", LINK],
  ["a relative link", "os.symlink('../../../../../../etc/shadow', 'l3')", "l3", LINK],
  ["a link within the outbox", "os.symlink('report.txt', 'l4')", "l4", LINK],
  ["a loop of links", "os.symlink('o2', 'o1'); os.symlink('o1', 'o2')", "o1", LINK],
  ["a link to nothing", "os.symlink('nowhere', 'l5')", "l5", LINK],
  ["the host through a linked root", "os.symlink('/', 'root')", "root/CANARY", LINKED_PART],
  ["a linked directory", "os.symlink('/etc', 'etc')", "etc/shadow", LINKED_PART],
  ["the root of a process", "os.symlink('/proc/self/root', 'p')", "p/etc/hostname", LINKED_PART],
  ["a link to its own directory", "os.symlink('.', 'dot')", "dot/report.txt", LINKED_PART],
  ["a hard link", "put('h0', 'h'); os.link('h0', 'h1')", "h1", /more than one hard link/],
];

const NOT_REGULAR = /not a regular file/;
const ABSENT = /no such file/;
const SPECIAL: readonly Refused[] = [
  ["a pipe", "os.mkfifo('fifo')", "fifo", NOT_REGULAR],
  ["a socket", "socket.socket(socket.AF_UNIX).bind('sock')", "sock", NOT_REGULAR],
  // No box user can make these two.
  ["a device", "os.mknod('device', 0o20666, os.makedev(1, 5))", "device", ABSENT],
  ["a disk", "os.mknod('disk', 0o60666, os.makedev(8, 0))", "disk", ABSENT],
  ["a directory", "os.mkdir('adir')", "adir", /it is a directory/],
  ["an unreadable file", "put('m0', 'm'); os.chmod('m0', 0)", "m0", /cannot be read/],
  [
    "one byte too much",
    `put('over', 'x' * ${LIMIT + 1})`,
    "over",
    new RegExp(`${LIMIT + 1} bytes.*${LIMIT}`),
  ],
  ["a hole", "put('hole', ''); os.truncate('hole', 1 << 29)", "hole", /536870912 bytes.*limit/],
  ["a name that is no UTF-8", "put(b'\\xff\\xfe.txt', 'x')", "\ufffd\ufffd.txt", ABSENT],
  [
    "an overlong encoding",
    "put(b'..\\xc0\\xaf..\\xc0\\xafetc', 'x')",
    "..\u00c0\u00af..\u00c0\u00afetc",
    ABSENT,
  ],
];

const ESCAPES = /escapes/;
const NO_PATH = /cannot be a path/;
const RELATIVE = /must be absolute/;
const ITSELF = /a directory of the workspace itself/;
const PATHS: readonly Refused[] = [
  ["parents", "", "../../../secret", ESCAPES],
  ["parents in the middle", "", `sub/${"../".repeat(8)}etc/passwd`, ESCAPES],
  ["a file of the system", "", "/etc/passwd", ESCAPES],
  ["variables of a process", "", "/proc/1/environ", ESCAPES],
  ["a descriptor", "", "/proc/self/fd/0", ESCAPES],
  ["an endless device", "", "/dev/zero", ESCAPES],
  ["a file of the host", "", "=CANARY", ESCAPES],
  ["the engine's socket", "", "/var/run/docker.sock", ESCAPES],
  ["a name that begins like the outbox", "twin()", "=OUTBOXevil/report.txt", /does not belong to this run/],
  ["the outbox itself", "", "=OUTBOX", ITSELF],
  ["the outbox with a slash", "", "=OUTBOX/", ITSELF],
  ["the workspace", "", "/workspace", ITSELF],
  ["a relative path", "", "=report.txt", RELATIVE],
  ["nothing", "", "=", NO_PATH],
  ["a dot", "", "=.", RELATIVE],
  ["a NUL", "", "report.txt\0.png", NO_PATH],
  ["a home", "", "=~/report.txt", RELATIVE],
  ["an address", "", "=file:///etc/passwd", RELATIVE],
  ["a pattern", "", "*.txt", ABSENT],
  ["encoded parents", "", "%2e%2e/%2e%2e/etc/passwd", ABSENT],
  ["a long component", "", "n".repeat(256), NO_PATH],
  ["a long path", "", Array.from({ length: 30 }, () => "d".repeat(200)).join("/"), NO_PATH],
  ["half a character", "", "\ud800.txt", NO_PATH],
  ["a missing file", "", "no-such", ABSENT],
];

const REFUSED = [...LINKS, ...SPECIAL, ...PATHS];

const BUILD = `
import json, os, socket, sys
CANARY = sys.argv[1]
os.chdir(os.environ["BERTH_OUTBOX"])
def put(name, content):
    parent = os.path.dirname(os.fsdecode(name))
    if parent: os.makedirs(parent, exist_ok=True)
    with open(name, "w") as out: out.write(content)
def twin():
    os.makedirs(os.getcwd() + "evil")
    put(os.getcwd() + "evil/report.txt", "twin")
for name, content in FILES: put(name, content)
os.chmod("suid", 0o6755)
for kind, make in MAKES:
    try: exec(make)
    except OSError: print(kind)
`;

/** The script in the box: JSON is Python here, but for the names of its constants. */
function buildCommand(canary: string): string {
  const files = [
    ...HONEST.map(([, name, content]) => [name, content]),
    ...ODD.map(([kind, name]) => [name, kind]),
  ];
  const makes = REFUSED.flatMap(([kind, make]) => (make === "" ? [] : [[kind, make]]));
  const source = `FILES = ${JSON.stringify(files)}\nMAKES = ${JSON.stringify(makes)}\n${BUILD}`;
  const encoded = Buffer.from(source).toString("base64");
  return `echo ${encoded} | base64 -d > /tmp/build.py && python3 /tmp/build.py ${canary}`;
}

/** What is given to the export: `=` marks what is no path below the outbox. */
function pathOf(path: string, of: { readonly outbox: string; readonly canary: string }): string {
  if (path.startsWith("=")) return path.slice(1).replace("OUTBOX", of.outbox).replace("CANARY", of.canary);
  return path.startsWith("/") ? path : `${of.outbox}/${path.replace("CANARY", of.canary.slice(1))}`;
}

const exportedSchema = z.object({ files: z.array(z.object({ name: z.string() })) });
const execSchema = z.object({ stdout: z.string() });

/** Names under which an export delivered its files, in order. */
function namesIn(result: string): readonly string[] {
  return exportedSchema.parse(JSON.parse(result)).files.map(({ name }) => name);
}

function isRefusal(result: string): boolean {
  return /^Error: Nothing was exported and nothing was removed:\n- [^\n]*$/.test(result);
}

const BOTH: readonly ServedBy[] = ["helper", "engine"];

describe.skipIf(!inject("dockerAvailable")).each(BOTH)("a hostile outbox, served by the %s", (servedBy) => {
  const service = serviceForAll({
    servedBy,
    settings: { export: { max_file_bytes: LIMIT, max_total_bytes: 10 * LIMIT, max_files: 100 } },
  });
  const token = randomBytes(16).toString("hex");
  let directory = "";
  let run: Run;
  let requests: readonly ChatRequest[] = [];
  let honest: readonly string[] = [];
  let odd: readonly string[] = [];
  let refused: readonly string[] = [];

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "berth-canary-"));
    const canary = join(directory, "canary.txt");
    await writeFile(canary, `HOST-CANARY-${token}`);
    const exportAll = late((request) => {
      const of = { outbox: outboxOf(request), canary };
      const alone = [...ODD.map(([, name]) => name), ...REFUSED.map(([, , path]) => path)].map((path) => [
        path,
      ]);
      const selections = [HONEST.map(([, name]) => name), ...alone];
      return calls(
        selections.map((paths) => ({
          name: "export_box_files",
          arguments: { paths: paths.map((path) => pathOf(path, of)) },
        })),
      );
    });
    const model = service().script(
      runs(buildCommand(canary)),
      exportAll,
      runs("find /workspace /tmp -name PWN; ls -A /workspace"),
      says((request) => execSchema.parse(JSON.parse(lastToolResults(request)[0] ?? "")).stdout),
    );
    run = await service().send(chatMessage("hostile", "Send everything"));
    model.assertFinished();
    ({ requests } = model);
    const [first = "", ...others] = lastToolResults(model.request(2));
    honest = namesIn(first);
    odd = others.slice(0, ODD.length);
    refused = others.slice(ODD.length);
  }, 120_000);

  afterAll(async () => rm(directory, { recursive: true, force: true }));

  /** Bytes of the delivery that has this name. */
  async function bytesOf(name: string | undefined): Promise<string> {
    const index = run.deliveries.findIndex((delivery) => delivery.name === name);
    return (await service().download(run, index)).toString();
  }

  it("is made in the box, but for devices; and nothing of it runs", () => {
    expect(run).toMatchObject({ status: "completed", error: null });
    expect(execSchema.parse(JSON.parse(lastToolResults(requests[1] ?? requestOfNone)[0] ?? "")).stdout).toBe(
      "a device\na disk\n",
    );
    expect(run.message?.content.split("\n")).toEqual([".home", ".tool-results", "inbox", "outbox", ""]);
    expect([honest.length, odd.length, refused.length]).toEqual([HONEST.length, ODD.length, REFUSED.length]);
  });

  it.each(HONEST.map(([kind, , content], index) => [kind, content, index] as const))(
    "gives away %s as it is",
    async (_kind, content, index) => {
      expect(await bytesOf(honest[index])).toBe(content);
    },
  );

  it.each(ODD.map(([kind], index) => [kind, index] as const))(
    "gives away %s in a name under a clean one, or not at all",
    async (kind, index) => {
      const result = odd[index] ?? "";
      const [name] = isRefusal(result) ? ["refused"] : namesIn(result);
      expect(name).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}/\\]/u);
      expect(isRefusal(result) ? kind : await bytesOf(name)).toBe(kind);
    },
  );

  it.each(REFUSED.map(([kind, , , because], index) => [kind, because, index] as const))(
    "refuses %s",
    (_kind, because, index) => {
      expect(refused[index]).toMatch(/^Error: Nothing was exported and nothing was removed:\n- [^\n]*$/);
      expect(refused[index]).toMatch(because);
    },
  );

  it("gives away each file once, and inert", async () => {
    expect(new Set(run.deliveries.map(({ name }) => name)).size).toBe(run.deliveries.length);
    for (const { url } of run.deliveries) {
      const { headers } = await service().fetch(url, { method: "HEAD" });
      expect(headers.get("content-disposition")).toMatch(/^attachment;/);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("content-security-policy")).toContain("sandbox");
      expect(headers.get("content-type")).not.toMatch(/html|svg|xml/);
    }
  });

  it("shows no byte of the host to anybody", async () => {
    const events = await readStream(await service().fetch(`/v1/runs/${run.id}/events`));
    expect(events.length).toBeGreaterThan(REFUSED.length);
    const files = await Promise.all(run.deliveries.map(async ({ name }) => bytesOf(name)));
    for (const said of [requests, run, events, files, service().log]) {
      expect(JSON.stringify(said)).not.toContain(token);
      expect(JSON.stringify(said)).not.toMatch(/root:[x*!]:/);
    }
  });
});

const requestOfNone: ChatRequest = { messages: [], tools: [] };
