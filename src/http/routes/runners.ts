/** Which runners there are, and what their config may hold (runs §4.1). */

import { describeRunners } from "../../runs/runner-metadata.js";
import type { RunnerRegistry } from "../../runs/runner-registry.js";
import { listRunners } from "../operation-contracts.js";
import { implement, type Route } from "../route.js";

export interface RunnerRoutesDeps {
  readonly runners: Pick<RunnerRegistry, "listUncached">;
}

export function runnersRoute({ runners }: RunnerRoutesDeps): Route {
  return implement(listRunners, async ({ caller, response, signal }) => {
    const scope = { tenant: caller.tenant, allowedPackages: null };
    const found = await runners.listUncached(scope, { signal });
    response.json(describeRunners(found.map(({ descriptor }) => descriptor)));
  });
}
