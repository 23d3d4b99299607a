/** One host action: the schema of its payload, and the method of the run's host that performs it (runs §15.5). */
import { z } from "zod";
import { ServiceError } from "../../../domain/errors.js";
import type { HostActionAnswer } from "../../../ports/host-actions.js";
import type { CallOptions } from "../../../ports/options.js";
import type { RunHost } from "../../../ports/run-host.js";

const MAX_FAULT_CHARS = 500;

/** @throws ServiceError `host.invalid_argument` for a payload that does not fit, and whatever the host answers with */
export type HostAction = (host: RunHost, payload: unknown, options: CallOptions) => Promise<HostActionAnswer>;

/** By the name that stands on the wire. */
export type HostActionTable = Readonly<Record<string, HostAction>>;

/** Payload of an action that needs none. */
export const nothing = z.strictObject({});

/** An action that gives one value. */
export function one<Payload extends z.ZodType>(
  schema: Payload,
  perform: (host: RunHost, payload: z.infer<Payload>, options: CallOptions) => Promise<unknown>,
): HostAction {
  return async (host, payload, options) => ({
    kind: "value",
    value: await perform(host, check(schema, payload), options),
  });
}

/** An action that gives values as they come. */
export function many<Payload extends z.ZodType>(
  schema: Payload,
  perform: (host: RunHost, payload: z.infer<Payload>, options: CallOptions) => AsyncIterable<unknown>,
): HostAction {
  return async (host, payload, options) => ({
    kind: "stream",
    values: perform(host, check(schema, payload), options),
  });
}

function check<Payload extends z.ZodType>(schema: Payload, payload: unknown): z.infer<Payload> {
  const parsed = schema.safeParse(payload);
  if (parsed.success) return parsed.data;
  const faults = z.prettifyError(parsed.error).replaceAll(/\s+/g, " ").slice(0, MAX_FAULT_CHARS);
  throw new ServiceError("host.invalid_argument", `The payload does not fit the action: ${faults}`);
}
