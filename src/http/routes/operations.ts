/** For whoever runs the service: life, readiness, metrics, the document of the routes, the start page (api §7). */
import { ServiceError } from "../../domain/errors.js";
import type { Metrics } from "../../ports/metrics.js";
import type { RunService } from "../../runs/run-service.js";
import { createOpenApiDocument } from "../openapi.js";
import { getHealth, getMetrics, getOpenApi, getReadiness, getStartPage } from "../operation-contracts.js";
import type { PartReadiness, Readiness } from "../readiness.js";
import { toErrorBody } from "../report-error.js";
import { requestAddress } from "../request-address.js";
import { implement, type Route } from "../route.js";
import { startPageHtml, startPageText } from "../start-page.js";

export interface OperationRoutesDeps {
  readonly runs: Pick<RunService, "isStopping">;
  readonly readiness: Readiness;
  readonly metrics: Pick<Metrics, "text">;
  readonly version: string;
  /** Without slash at the end; null = the address of the request. */
  readonly publicUrl: string | null;
}

/** Whoever spreads requests over services sends nothing more here. */
const STOPPING: PartReadiness = { name: "service", ok: false, reason: "It is stopping." };

export function operationRoutes({
  runs,
  readiness,
  metrics,
  version,
  publicUrl,
}: OperationRoutesDeps): readonly Route[] {
  const document = createOpenApiDocument(version);
  return [
    implement(getHealth, async ({ response }) => {
      response.json({ status: "ok" });
    }),
    implement(getReadiness, async ({ response, context }) => {
      const parts = [...(await readiness.ask()), ...(runs.isStopping ? [STOPPING] : [])];
      const faulty = parts.filter(({ ok }) => !ok);
      if (faulty.length === 0) {
        response.json({ status: "ready", parts });
        return;
      }
      context.error = notReady(faulty);
      response.status(503).set("Retry-After", "5");
      response.json({ status: "not_ready", parts, ...toErrorBody(context.error, context.requestId) });
    }),
    implement(getMetrics, async ({ response }) => {
      const { contentType, body } = await metrics.text();
      response.set("Content-Type", contentType).send(body);
    }),
    implement(getOpenApi, async ({ response }) => {
      response.json(document);
    }),
    implement(getStartPage, async ({ request, response }) => {
      const address = requestAddress(request, publicUrl);
      const html = request.accepts(["text/plain", "text/html"]) === "text/html";
      if (html) response.type("html").send(startPageHtml(version, address));
      else response.type("text/plain").send(startPageText(version, address));
    }),
  ];
}

function notReady(faulty: readonly PartReadiness[]): ServiceError {
  const named = faulty.map(({ name, reason }) => `${name}: ${reason ?? "it does not answer"}`).join("; ");
  return new ServiceError("service.not_ready", `Not ready. ${named}`);
}
