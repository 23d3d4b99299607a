/** A control plane on a port of its own that answers what a test tells it to. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { z } from "zod";

export class ControlPlane implements AsyncDisposable {
  readonly #server: Server;
  /** Of the next answers; null = 503. A number is a status. */
  answer: unknown = null;
  /** Method, path and token of each request. */
  readonly asked: string[] = [];

  static start(): Promise<ControlPlane> {
    return new ControlPlane().#listen();
  }

  private constructor() {
    this.#server = createServer((request, response) => {
      this.asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? ""}`);
      response.statusCode = typeof this.answer === "number" ? this.answer : this.answer === null ? 503 : 200;
      response.end(typeof this.answer === "string" ? this.answer : JSON.stringify(this.answer));
    });
  }

  async #listen(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  get url(): string {
    const { port } = z.object({ port: z.number() }).parse(this.#server.address());
    return `http://127.0.0.1:${port}/grants`;
  }

  /** A grant of tenant and id `main`. */
  grant(change: Readonly<Record<string, unknown>> = {}, inMs = 120_000): void {
    const expires = new Date(Date.now() + inMs).toISOString();
    this.answer = { grant_id: "main", tenant: "main", revision: 1, expires_at: expires, boxes: 2, ...change };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }
}
