/** A small client of the container engine's HTTP interface, so that the scripts need neither a CLI nor a package. */
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { homedir } from "node:os";
import { join } from "node:path";
import { EXIT, Failure, messageOf } from "./failure.mjs";
import { parseJson } from "./parse-json.mjs";

/** @typedef {{ socketPath: string } | { host: string, port: string, ca?: Buffer, cert?: Buffer, key?: Buffer }} Address */
/**
 * @typedef {object} Call
 * @property {Record<string, string>} [query]
 * @property {unknown} [json] sent as JSON
 * @property {import("node:stream").Readable | Buffer} [body] sent as a tar archive
 * @property {number} [timeoutMs] of silence, before or within the answer
 */

/** The engine answered with a refusal, or could not do what it was asked. */
export class EngineError extends Failure {
  /**
   * @param {string} message
   * @param {number} status
   */
  constructor(message, status) {
    super(`The engine refused (${status}): ${message}`);
    this.status = status;
  }
}

const DEFAULT_ADDRESS = "unix:///var/run/docker.sock";

/**
 * Where the engine is: DOCKER_HOST in the forms that the docker command takes, else the default socket.
 * @param {NodeJS.ProcessEnv} env
 */
export function engineUrl(env) {
  return env["DOCKER_HOST"] || DEFAULT_ADDRESS;
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {{ address: Address, secure: boolean }}
 */
function parseAddress(env) {
  const url = engineUrl(env);
  const [, scheme = "", rest = ""] = /^(\w+):\/\/(.+)$/.exec(url) ?? [];
  if (scheme === "unix") return { address: { socketPath: rest }, secure: false };
  if (!["tcp", "http", "https"].includes(scheme)) {
    const hint =
      "Next step: use unix:///path/to.sock or tcp://host:port (instead of ssh, forward the socket by ssh -L).";
    throw new Failure(`DOCKER_HOST=${url} has a form that does not work here.`, {
      hint,
      exitCode: EXIT.unavailable,
    });
  }
  const { hostname: host, port } = new URL(`http://${rest}`);
  if (scheme === "https" || env["DOCKER_TLS_VERIFY"]) {
    return { address: { host, port: port || "2376", ...readCertificates(env) }, secure: true };
  }
  return { address: { host, port: port || "2375" }, secure: false };
}

/** @param {NodeJS.ProcessEnv} env */
function readCertificates(env) {
  const folder = env["DOCKER_CERT_PATH"] || join(homedir(), ".docker");
  const read = (/** @type {string} */ name) => readFileSync(join(folder, name));
  return { ca: read("ca.pem"), cert: read("cert.pem"), key: read("key.pem") };
}

export class Engine {
  #address;
  #secure;

  /** @param {NodeJS.ProcessEnv} env */
  constructor(env) {
    const { address, secure } = parseAddress(env);
    this.#address = address;
    this.#secure = secure;
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {Call} [call]
   * @returns {Promise<http.IncomingMessage>} a successful answer whose body is still to be read
   */
  async open(method, path, { query = {}, json, body, timeoutMs = 20_000 } = {}) {
    const answer = await new Promise(
      (
        /** @type {(answer: http.IncomingMessage) => void} */ resolve,
        /** @type {(error: Error) => void} */ reject,
      ) => {
        const search = new URLSearchParams(query).toString();
        const type = json === undefined ? "application/x-tar" : "application/json";
        const request = (this.#secure ? https : http).request({
          ...this.#address,
          method,
          path: search === "" ? path : `${path}?${search}`,
          headers: json === undefined && body === undefined ? {} : { "content-type": type },
          agent: false,
        });
        request.setTimeout(timeoutMs, () =>
          request.destroy(new Error(`no answer for ${timeoutMs / 1000} s`)),
        );
        request.once("response", resolve).once("error", reject);
        if (body !== undefined && "pipe" in body) body.once("error", reject).pipe(request);
        else request.end(json === undefined ? body : JSON.stringify(json));
      },
    ).catch((/** @type {unknown} */ cause) => {
      const hint = "Next step: npm run engine";
      throw new Failure(`The engine does not answer: ${messageOf(cause)}`, {
        hint,
        cause,
        exitCode: EXIT.unavailable,
      });
    });
    const status = answer.statusCode ?? 0;
    if (status < 400) return answer;
    const text = await readText(answer);
    throw new EngineError(errorMessage(text), status);
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {Call} [call]
   */
  async text(method, path, call) {
    return readText(await this.open(method, path, call));
  }

  /**
   * @template T
   * @param {string} method
   * @param {string} path
   * @param {Call} [call]
   * @returns {Promise<T>}
   */
  async json(method, path, call) {
    return parseJson(await this.text(method, path, call));
  }

  /**
   * Follows an answer of JSON objects, one a line, as builds and pulls give them.
   * @template T
   * @param {string} method
   * @param {string} path
   * @param {Call} [call]
   * @returns {AsyncGenerator<T>}
   */
  async *lines(method, path, call) {
    const answer = await this.open(method, path, call);
    let rest = "";
    for await (const text of answer.setEncoding("utf8")) {
      const parts = (rest + String(text)).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts.filter((line) => line.trim() !== "")) yield parseJson(part);
    }
    if (rest.trim() !== "") yield parseJson(rest);
  }

  /**
   * Whether an engine answers, and why not.
   * @param {number} [timeoutMs]
   * @returns {Promise<{ version: string } | { reason: string, code: string }>}
   */
  async probe(timeoutMs = 3000) {
    try {
      /** @type {{ Version?: string }} */
      const { Version = "unknown" } = await this.json("GET", "/version", { timeoutMs });
      return { version: Version };
    } catch (error) {
      const cause = error instanceof Failure ? (error.cause ?? error) : error;
      const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
      return { reason: messageOf(cause), code };
    }
  }
}

/** @param {http.IncomingMessage} answer */
async function readText(answer) {
  let text = "";
  for await (const part of answer.setEncoding("utf8")) text += String(part);
  return text;
}

/** @param {string} text */
function errorMessage(text) {
  if (!text.startsWith("{")) return text.trim();
  /** @type {{ message?: string }} */
  const { message = text } = parseJson(text);
  return message;
}
