/**
 * A machine next to this one: a network namespace with a web server, at the other end of a link. It has a private address
 * and one in a range that counts as public; this machine gets one of each kind on its end. Disposing removes all of it.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { run } from "./run-program.js";

/** Says where it was asked, and writes a line for each request. */
const SERVER = `
const { createServer } = require("node:http");
const answer = ({ url, socket }, response) => {
  console.log(socket.localAddress + ":" + socket.localPort + url);
  response.end("neighbour " + socket.localPort);
};
let left = 2;
for (const port of [80, 8080])
  createServer(answer).listen(port, "0.0.0.0", () => { if ((left -= 1) === 0) console.log("ready"); });
`;

interface Ends {
  readonly private: string;
  readonly public: string;
}

/** `npm test` sees to it where it can, and then they must be there. */
export function hasNamespaces(): boolean {
  if (process.env["REQUIRE_NAMESPACES"] === "1") return true;
  const name = `berth-${randomBytes(4).toString("hex")}`;
  try {
    execFileSync("ip", ["netns", "add", name], { stdio: "ignore" });
    execFileSync("ip", ["netns", "del", name], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

export class Neighbour implements AsyncDisposable {
  readonly #namespace: string;
  readonly #server: ChildProcess;
  readonly #heard: string[];
  readonly address: Ends;
  /** This machine's, as the neighbour sees it. */
  readonly host: Ends;

  private constructor(of: {
    name: string;
    server: ChildProcess;
    heard: string[];
    address: Ends;
    host: Ends;
  }) {
    this.#namespace = of.name;
    this.#server = of.server;
    this.#heard = of.heard;
    this.address = of.address;
    this.host = of.host;
  }

  static async start(): Promise<Neighbour> {
    const name = `berth-${randomBytes(4).toString("hex")}`;
    const [third, last] = [randomInt(256), randomInt(1, 127) * 2];
    const net = `10.${randomInt(200, 250)}.${third}`;
    // 192.52.193.0/24 is routed worldwide for a protocol that is out of use.
    const host = { private: `${net}.1`, public: `192.52.193.${last}` };
    const address = { private: `${net}.2`, public: `192.52.193.${last + 1}` };
    await run("ip", ["netns", "add", name]);
    try {
      await connect(name, { host, address });
      const server = spawn("ip", ["netns", "exec", name, process.execPath, "-e", SERVER], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const heard: string[] = [];
      const ready = new Promise<void>((resolve, reject) => {
        server.once("exit", () => reject(new Error("The neighbour's server ended.")));
        server.stdout.setEncoding("utf8").on("data", (text: string) => {
          heard.push(...text.trim().split("\\n"));
          if (heard.includes("ready")) resolve();
        });
      });
      await ready;
      return new Neighbour({ name, server, heard, host, address });
    } catch (error) {
      await run("ip", ["netns", "del", name]);
      throw error;
    }
  }

  /** Every request so far, as `address:port/path`. */
  get requests(): readonly string[] {
    return this.#heard.filter((line) => line !== "ready");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const gone = once(this.#server, "exit");
    this.#server.kill("SIGKILL");
    await gone;
    // The other end goes with it.
    await run("ip", ["link", "del", this.#namespace]);
    await run("ip", ["netns", "del", this.#namespace]);
  }
}

/** The link has the name of the namespace; it may have 15 characters. */
async function connect(name: string, { host, address }: { readonly host: Ends; readonly address: Ends }) {
  const inside = ["-n", name];
  for (const args of [
    ["link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name],
    ["addr", "add", `${host.private}/30`, "dev", name],
    ["addr", "add", `${host.public}/32`, "dev", name],
    ["link", "set", name, "up"],
    [...inside, "addr", "add", `${address.private}/30`, "dev", "eth0"],
    [...inside, "addr", "add", `${address.public}/32`, "dev", "eth0"],
    [...inside, "link", "set", "eth0", "up"],
    [...inside, "link", "set", "lo", "up"],
    ["route", "add", `${address.public}/32`, "dev", name, "src", host.private],
  ])
    await run("ip", args);
}
