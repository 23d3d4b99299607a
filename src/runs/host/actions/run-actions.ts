/** `run_get` and its kin, and `append_result`: the runs that the asking one may see (runs §15.5). */
import { z } from "zod";
import { runIdSchema } from "../../../domain/ids.js";
import { publicStatusSchema } from "../../../domain/run.js";
import { type HostActionTable, one } from "./define-action.js";

const target = z.strictObject({ run_id: runIdSchema });
const limit = z.int().positive().optional();

export const RUN_ACTIONS: HostActionTable = {
  run_get: one(target, (host, { run_id }, options) => host.runs.get(run_id, options)),
  run_list: one(
    z.strictObject({ status: publicStatusSchema.optional(), cursor: runIdSchema.optional(), limit }),
    (host, request, options) => host.runs.list(request, options),
  ),
  run_events_page: one(
    target.extend({ cursor: z.string().max(200).optional(), limit }),
    (host, { run_id: runId, ...page }, options) => host.runs.eventsPage({ runId, ...page }, options),
  ),
  run_cancel: one(target, (host, { run_id }, options) => host.runs.cancel(run_id, options)),
  append_result: one(target.extend({ result: z.unknown() }), (host, { run_id, result }, options) =>
    host.runs.appendResult(run_id, result, options),
  ),
};
