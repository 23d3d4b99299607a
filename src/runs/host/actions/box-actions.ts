/** What a runner may ask of boxes (box §4, §7). */
import { z } from "zod";
import { sessionIdSchema } from "../../../domain/ids.js";
import { type HostActionTable, nothing, one } from "./define-action.js";

export const BOX_ACTIONS: HostActionTable = {
  box_status: one(nothing, (host, _payload, options) => host.boxStatus(options)),
  box_acquire: one(z.unknown(), (host, request, options) => host.acquireBox(request, options)),
  box_bind: one(z.strictObject({ box: sessionIdSchema.optional() }), async (host, { box }, options) => {
    const { sessionId, ...bound } = await host.bindBox({ ...options, box });
    return { session_id: sessionId, ...bound };
  }),
  import_attachments: one(nothing, (host, _payload, options) => host.importAttachments(options)),
};
