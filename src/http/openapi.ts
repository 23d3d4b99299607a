/** The OpenAPI document, made from the contracts that also check the requests (api). */
import { OpenAPIRegistry, OpenApiGeneratorV31, type RouteConfig } from "@asteasolutions/zod-to-openapi";
import { z } from "zod";
import { ERROR_CODES, type ErrorCode } from "../domain/errors.js";
import { CONTRACTS } from "./contracts.js";
import type { RouteContract } from "./route.js";
import { errorSchema } from "./schemas/operation-bodies.js";

type OpenApiDocument = ReturnType<OpenApiGeneratorV31["generateDocument"]>;

/** Refusals that every route may give. */
const COMMON_ERRORS: readonly ErrorCode[] = ["request.invalid", "request.rate_limited", "internal"];
const KEYED_ERRORS: readonly ErrorCode[] = ["auth.invalid"];
const ADMIN_ERRORS: readonly ErrorCode[] = ["auth.forbidden"];
const BODY_ERRORS: readonly ErrorCode[] = [
  "request.too_large",
  "request.unsupported_media_type",
  "request.timeout",
];

export function createOpenApiDocument(version: string): OpenApiDocument {
  const registry = new OpenAPIRegistry();
  registry.registerComponent("securitySchemes", "key", { type: "http", scheme: "bearer" });
  for (const contract of CONTRACTS) registry.registerPath(toRouteConfig(contract));
  return new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: "3.1.0",
    info: {
      title: "Berth",
      version,
      description:
        "A self-hosted agent service: every chat gets its own box, every exported file is delivered.",
    },
  });
}

/** `/v1/runs/:id` as OpenAPI writes it. */
export function openApiPath(path: string): string {
  return path.replace(/:(\w+)/g, "{$1}");
}

function toRouteConfig(contract: RouteContract): RouteConfig {
  const { method, path, summary, query, headers, body } = contract;
  const names = [...path.matchAll(/:(\w+)/g)].flatMap(([, name]) => (name === undefined ? [] : [name]));
  return {
    method,
    path: openApiPath(path),
    summary,
    ...(contract.access === "public" ? {} : { security: [{ key: [] }] }),
    request: {
      ...(names.length === 0
        ? {}
        : { params: z.object(Object.fromEntries(names.map((name) => [name, z.string()]))) }),
      query,
      ...(headers === undefined ? {} : { headers }),
      ...(body === undefined ? {} : { body: { content: toContent(body) } }),
    },
    responses: { ...successes(contract), ...failures(contract) },
  };
}

function successes({ answers }: RouteContract): RouteConfig["responses"] {
  return Object.fromEntries(
    Object.entries(answers).map(([status, { description, content }]) => [
      status,
      content === undefined ? { description } : { description, content: toContent(content) },
    ]),
  );
}

function failures(contract: RouteContract): RouteConfig["responses"] {
  const codes = [
    ...contract.errors,
    ...COMMON_ERRORS,
    ...(contract.access === "public" ? [] : KEYED_ERRORS),
    ...(contract.access === "admin" ? ADMIN_ERRORS : []),
    ...(contract.body === undefined ? [] : BODY_ERRORS),
  ];
  const statuses = new Set(codes.map((code) => ERROR_CODES[code].status));
  return Object.fromEntries(
    [...statuses]
      .filter((status) => contract.answers[status] === undefined)
      .map((status) => [status, failure(codes.filter((code) => ERROR_CODES[code].status === status))]),
  );
}

function failure(codes: readonly ErrorCode[]) {
  return {
    description: codes.map((code) => `\`${code}\``).join(", "),
    content: toContent({ "application/json": errorSchema }),
  };
}

function toContent(schemas: Readonly<Record<string, z.ZodType>>) {
  return Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema }]));
}
