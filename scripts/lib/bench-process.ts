/** Processes that `bench:runs` starts and gives orders, one answer for each. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { type Order, type Report, reportSchema } from "./bench-worker.js";

export class BenchProcess implements AsyncDisposable {
  readonly #child: ChildProcess;

  constructor(file: string, args: readonly string[], nodeArgs: readonly string[] = []) {
    this.#child = fork(file, args, { execArgv: ["--import", "tsx", "--expose-gc", ...nodeArgs] });
  }

  /** What the process says first, when it is ready. */
  async ready(): Promise<unknown> {
    return this.#next();
  }

  async work(order: Order): Promise<Report> {
    this.#child.send(order);
    return reportSchema.parse(await this.#next());
  }

  async #next(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const fail = (): void => reject(new Error("A process of the benchmark ended before its answer."));
      this.#child.once("exit", fail);
      this.#child.once("message", (message: unknown) => {
        this.#child.off("exit", fail);
        resolve(message);
      });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || !this.#child.connected) return;
    const exited = once(this.#child, "exit");
    this.#child.disconnect();
    await exited;
  }
}
