/** Runs the smoke test of the box image in a container that is as closed as a box. */
import { Failure } from "./failure.mjs";

/** @typedef {import("./engine.mjs").Engine} Engine */

const LABEL = "berth.smoke-test";
const LIMIT_MS = 180_000;
const MIB = 1024 * 1024;

/**
 * @param {Engine} engine
 * @param {{ image: string, target: string, program: string }} test
 * @param {(line: string) => void} report
 */
export async function smokeTest(engine, { image, target, program }, report) {
  await removeLeftOvers(engine);
  const body = containerBody(image, ["python3", "-c", program, target]);
  /** @type {{ Id: string }} */
  const { Id } = await engine.json("POST", "/containers/create", { json: body });
  try {
    report("running");
    await engine.text("POST", `/containers/${Id}/start`, { timeoutMs: 60_000 });
    /** @type {{ StatusCode: number }} */
    const { StatusCode } = await engine.json("POST", `/containers/${Id}/wait`, { timeoutMs: LIMIT_MS });
    const output = await engine.text("GET", `/containers/${Id}/logs`, {
      query: { stdout: "1", stderr: "1" },
    });
    if (StatusCode === 0) return;
    const hint = "Next step: repair box-image/ and run `npm run image` again. No tag was changed.";
    throw new Failure(`${output.trim()}\n\nThe ${target} image does not pass its smoke test.`, { hint });
  } finally {
    await engine.text("DELETE", `/containers/${Id}`, { query: { force: "1", v: "1" } });
  }
}

/**
 * Removes what an interrupted run left behind.
 * @param {Engine} engine
 */
async function removeLeftOvers(engine) {
  const filters = JSON.stringify({ label: [LABEL], status: ["created", "exited", "dead"] });
  /** @type {{ Id: string }[]} */
  const containers = await engine.json("GET", "/containers/json", { query: { all: "1", filters } });
  for (const { Id } of containers)
    await engine.text("DELETE", `/containers/${Id}`, { query: { force: "1" } });
}

/**
 * @param {string} image
 * @param {readonly string[]} command
 */
function containerBody(image, command) {
  return {
    Image: image,
    Entrypoint: [],
    Cmd: command,
    Env: ["HOME=/workspace/.home", "LANG=C.UTF-8"],
    User: "30001:30001",
    WorkingDir: "/",
    Tty: true,
    Labels: { [LABEL]: "1" },
    HostConfig: {
      NetworkMode: "none",
      Init: true,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges:true"],
      ReadonlyRootfs: true,
      IpcMode: "private",
      Tmpfs: {
        "/tmp": "rw,nosuid,nodev,exec,size=64m,mode=1777",
        "/workspace": "rw,nosuid,nodev,exec,size=128m,uid=30001,gid=30001,mode=700",
      },
      PidsLimit: 128,
      Memory: 512 * MIB,
      MemorySwap: 512 * MIB,
      LogConfig: { Type: "json-file", Config: { "max-size": "1m" } },
    },
  };
}
