/** The engine's HTTP interface: the one place that calls it, with a time limit on every call (security §3.4). */
import { Duplex } from "node:stream";
import Docker from "dockerode";
import { ServiceError } from "../../domain/errors.js";
import { linkSignals } from "../../lib/link-signals.js";
import type { CallOptions } from "../../ports/options.js";
import { describeRefusal, type EngineRefusal, readRefusal, readUnreachable } from "./engine-errors.js";

/** How to reach the engine; the words of dockerode. */
export interface EngineConnection {
  readonly socketPath?: string;
  readonly host?: string;
  readonly port?: number;
  readonly protocol?: "http" | "https";
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

export interface EngineRequest {
  /** Completes "The engine could not …", e.g. `start the box`. */
  readonly operation: string;
  readonly method: "GET" | "POST" | "DELETE";
  /** Without query; names in it already encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly body?: object | undefined;
  readonly limitMs: number;
}

/** A refusal is an answer that the caller weighs: "already there" and "already gone" are no failures. */
export type EngineAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly refusal: EngineRefusal };

const ACCEPTED = { 200: true, 201: true, 204: true } as const;

export class EngineApi {
  readonly #docker: Docker;

  constructor(connection: EngineConnection) {
    this.#docker = new Docker(connection);
  }

  /** @throws ServiceError `box.engine_unavailable` when the engine does not answer within the limit */
  async ask(request: EngineRequest, { signal }: CallOptions): Promise<EngineAnswer> {
    return this.#limited(request, signal, (limited) => this.#dial(request, limited, false));
  }

  /** Like `ask`, for calls whose refusal is a failure. @throws ServiceError also for a refusal */
  async call(request: EngineRequest, options: CallOptions): Promise<unknown> {
    const answer = await this.ask(request, options);
    if (!answer.ok) throw describeRefusal(request.operation, answer.refusal);
    return answer.value;
  }

  /** Starts an exec and takes over its connection. An abort after the answer leaves the stream alone. */
  async attach(request: EngineRequest, options: CallOptions): Promise<Duplex> {
    const answer = await this.#limited(request, options.signal, (limited) =>
      this.#dial(request, limited, true),
    );
    if (!answer.ok) throw describeRefusal(request.operation, answer.refusal);
    if (answer.value instanceof Duplex) return answer.value;
    throw new ServiceError(
      "box.engine_unavailable",
      `The engine could not ${request.operation}: it gave no stream.`,
    );
  }

  async #limited(
    request: EngineRequest,
    signal: AbortSignal,
    dial: (limited: AbortSignal) => Promise<EngineAnswer>,
  ): Promise<EngineAnswer> {
    signal.throwIfAborted();
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), request.limitMs);
    using linked = linkSignals(signal, limit.signal);
    try {
      return await dial(linked.signal);
    } catch (error) {
      signal.throwIfAborted();
      throw readUnreachable(request, limit.signal.aborted, error);
    } finally {
      clearTimeout(timer);
    }
  }

  async #dial(request: EngineRequest, signal: AbortSignal, isStream: boolean): Promise<EngineAnswer> {
    return new Promise((resolve, reject) => {
      this.#docker.modem.dial(
        {
          path: `${request.path}?`,
          method: request.method,
          options: { _query: request.query ?? {}, _body: request.body ?? {} },
          statusCodes: isStream ? { 101: true, ...ACCEPTED } : ACCEPTED,
          abortSignal: signal,
          ...(isStream ? { isStream, hijack: true, openStdin: true, allowEmpty: true } : {}),
        },
        (error: unknown, value: unknown) => {
          if (error === null || error === undefined) {
            resolve({ ok: true, value });
            return;
          }
          const refusal = readRefusal(error);
          if (refusal === null) reject(error instanceof Error ? error : new Error("The engine failed."));
          else resolve({ ok: false, refusal });
        },
      );
    });
  }
}
