/** What programs of a box make of its proxy: git, pip and Node, in commands, jobs and terminals (box §10.6). */
import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { BoxdHelper } from "../../src/adapters/boxd/boxd-helper.js";
import { HttpEgressBroker } from "../../src/adapters/egress/http-egress-broker.js";
import { SystemClock } from "../../src/adapters/system/system-clock.js";
import { EgressRules } from "../../src/domain/egress-rules.js";
import { CleanupStack } from "../../src/lib/cleanup-stack.js";
import type { BoxHandle, TerminalSize } from "../../src/ports/box-handle.js";
import { run } from "../contracts/box-backend.js";
import { KeptLogger } from "../fakes/kept-logger.js";
import { FOREVER, HELPER_IMAGE, hasEngine, TestEngine } from "../support/engine.js";

/** Prints what a web server has to give: a bare repository as files, and a package. */
const MAKE_FILES = `
import base64, io, json, os, subprocess, zipfile
def git(*words): subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True, stdout=subprocess.DEVNULL)
os.chdir("/tmp")
git("init", "-q", "made"); open("made/read.me", "w").write("cloned")
git("-C", "made", "add", "."); git("-C", "made", "commit", "-qm", "one")
git("clone", "-q", "--bare", "made", "repo.git"); git("-C", "repo.git", "update-server-info")
files = {}
for folder, _, names in os.walk("repo.git"):
    for name in names:
        path = os.path.join(folder, name)
        files["/" + path] = open(path, "rb").read()
wheel = io.BytesIO()
with zipfile.ZipFile(wheel, "w") as z:
    z.writestr("tiny.py", "")
    z.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n")
    z.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    z.writestr("tiny-1.0.dist-info/RECORD", "")
files["/simple/tiny/"] = b'<a href="/tiny-1.0-py3-none-any.whl">tiny-1.0-py3-none-any.whl</a>'
files["/tiny-1.0-py3-none-any.whl"] = wheel.getvalue()
print(json.dumps({name: base64.b64encode(data).decode() for name, data in files.items()}))
`;

describe.skipIf(!hasEngine())("programs of a box with a network", () => {
  const files = new Map<string, Buffer>();
  const asked: string[] = [];
  const web = createServer((request, response) => {
    const [path = ""] = (request.url ?? "").split("?");
    asked.push(path);
    const file = files.get(path);
    const type = path.endsWith("/") ? "text/html" : "application/octet-stream";
    response.writeHead(file === undefined ? 404 : 200, { "content-type": type }).end(file);
  });
  let life: CleanupStack;
  let engine: TestEngine;
  let box: BoxHandle;
  let url: string;

  beforeAll(async () => {
    life = new CleanupStack();
    await new Promise<void>((resolve) => {
      web.listen(0, "127.0.0.1", resolve);
    });
    life.defer(async () => {
      web.closeAllConnections();
      await new Promise((resolve) => {
        web.close(resolve);
      });
    });
    const address = web.address();
    url = `http://files.test:${typeof address === "object" && address !== null ? address.port : 0}`;
    const [clock, logger] = [new SystemClock(), new KeptLogger()];
    const broker = new HttpEgressBroker({
      rules: new EgressRules({ allowHosts: [], privateHosts: [new URL(url).host] }),
      limits: { maxConnections: 8, maxBytesPerHour: 1e9, connectionMs: 60_000, idleMs: 30_000 },
      secretHeaders: [],
      logger,
      clock,
      resolvers: { listedName: async () => Promise.resolve(["127.0.0.1"]) },
    });
    engine = life.use(
      new TestEngine("helper", new BoxdHelper({ image: HELPER_IMAGE, clock, logger, broker })),
    );
    ({ box } = await engine.startBox({ image: "berth-box:full", network: "broker", memoryMb: 512 }));
    life.use(box);
    const { stdout, stderr } = await run(box, ["python3", "-c", MAKE_FILES]);
    if (stderr !== "") throw new Error(stderr);
    for (const [path, text] of Object.entries(z.record(z.string(), z.string()).parse(JSON.parse(stdout))))
      files.set(path, Buffer.from(text, "base64"));
  });
  afterAll(async () => {
    await life[Symbol.asyncDispose]();
  });

  const shell = async (text: string): Promise<string> => {
    const { stdout, stderr } = await run(box, ["sh", "-c", text], { timeoutMs: 60_000 });
    return `${stdout}${stderr}`;
  };

  it("are git, which clones a repository", async () => {
    expect(await shell(`cd /tmp && git clone -q ${url}/repo.git cloned && cat cloned/read.me`)).toBe(
      "cloned",
    );
  });

  it("are pip, which finds a package in its index and fetches it", async () => {
    const pip = "pip download -q --disable-pip-version-check --no-cache-dir --no-deps";
    const fetched = await shell(
      `cd /tmp && ${pip} --index-url ${url}/simple --trusted-host files.test tiny 2>/dev/null; ls *.whl`,
    );
    expect(fetched).toBe("tiny-1.0-py3-none-any.whl\n");
    expect(asked).toContain("/simple/tiny/");
  });

  it("are Node, whose fetch takes the proxy from version 24 on, and whose requests can name it before", async () => {
    const asking = `
const { request } = require("node:http");
const { hostname, port } = new URL(process.env.http_proxy);
request({ hostname, port, path: "${url}/repo.git/HEAD", headers: { host: "${new URL(url).host}" } },
  (answer) => answer.pipe(process.stdout)).end();`;
    expect(await shell(`node -e '${asking}'`)).toContain("refs/heads/");
    const fetching = `fetch("${url}/repo.git/HEAD").then((a) => a.text(), () => "no way").then(console.log)`;
    const major = Number(await shell("node -p 'process.versions.node.split(\".\")[0]'"));
    expect(await shell(`node -e '${fetching}'`)).toContain(major < 24 ? "no way" : "refs/heads/");
  });

  it.each([
    ["a job", null],
    ["a terminal", { rows: 24, columns: 200 }],
  ] satisfies [string, TerminalSize | null][])("find it in %s too", async (_what, terminal) => {
    const argv = ["sh", "-c", `echo $https_proxy $NO_PROXY; curl -sS ${url}/repo.git/HEAD`];
    await using job = await box.spawn({ argv, workdir: "/workspace", env: {}, terminal }, FOREVER);
    let said = "";
    for await (const event of job.events)
      if (event.type !== "exit") said += Buffer.from(event.bytes).toString();
    expect(said).toContain("http://127.0.0.1:3128 localhost,127.0.0.1,::1");
    expect(said).toContain("refs/heads/");
  });

  it("find it at another port where something sits on the usual one", async () => {
    const place = engine.newPlace();
    const settings = { ...engine.settings, network: "broker" } as const;
    await engine.backend.prepareWorkspace(place, settings, FOREVER);
    await engine.backend.start(place, settings, FOREVER);
    const squat =
      "python3 -m http.server 3128 --bind 127.0.0.1 >/dev/null 2>&1 & until curl -s -o /dev/null http://127.0.0.1:3128/; do sleep 0.05; done";
    const exec = await engine.docker
      .getContainer(place.container)
      .exec({ Cmd: ["sh", "-c", squat], User: String(place.uid) });
    await exec.start({ Detach: true });
    await expect.poll(async () => (await exec.inspect()).Running, { timeout: 10_000 }).toBe(false);

    await using other = await engine.backend.open(place, FOREVER);
    const { stdout } = await run(other, [
      "sh",
      "-c",
      `echo $http_proxy $https_proxy $HTTP_PROXY; curl -sS ${url}/repo.git/HEAD; curl -s --noproxy '*' http://127.0.0.1:3128/ | head -c 9`,
    ]);

    const [variables = "", ...rest] = stdout.split("\n");
    const [first = "", ...others] = variables.split(" ");
    expect(first).toMatch(/^http:\/\/127\.0\.0\.1:(?!3128$)[1-9]\d+$/);
    expect(others).toEqual([first, first]);
    expect(rest.join("\n")).toMatch(/^ref: refs\/heads\/\w+\n<!DOCTYPE$/);
  });
});
