/** Whether boxes can be had, and for admins which there are and what failed lately (api §4, box §3). */
import type { BoxService } from "../../box/box-service.js";
import { implement, type Route } from "../route.js";
import { getBoxStatus } from "../session-contracts.js";

export interface BoxRoutesDeps {
  readonly boxes: Pick<BoxService, "engines" | "limits" | "listBoxes" | "recentErrors" | "status">;
}

export function boxStatusRoute({ boxes }: BoxRoutesDeps): Route {
  return implement(getBoxStatus, async ({ caller, response, signal }) => {
    const [status, engines] = [await boxes.status({ signal }), await boxes.engines({ signal })];
    const open = { ...status, engines, limits: boxes.limits };
    if (caller.role !== "admin") {
      response.json(open);
      return;
    }
    const list = await boxes.listBoxes(caller.tenant, { signal });
    response.json({ ...open, boxes: list, recent_errors: boxes.recentErrors(caller.tenant) });
  });
}
