/** What operators and probes ask for: runners, health, metrics, the contract itself, the start page (api §7). */
import { z } from "zod";
import { contract, json, noQuery } from "./contract-parts.js";
import { healthSchema, readinessSchema } from "./schemas/operation-bodies.js";
import { runnerMetadataSchema } from "./schemas/runner-bodies.js";

export const listRunners = contract({
  method: "get",
  path: "/v1/runners",
  access: "admin",
  summary: "The runners there are, and the form of each one's config.",
  query: noQuery,
  answers: { 200: json("Options to choose from, and a form for each that has one.", runnerMetadataSchema) },
  errors: [],
});

export const getHealth = contract({
  method: "get",
  path: "/healthz",
  access: "public",
  summary: "Whether the process lives.",
  query: noQuery,
  answers: { 200: json("It lives.", healthSchema) },
  errors: [],
});

export const getReadiness = contract({
  method: "get",
  path: "/readyz",
  access: "public",
  summary: "Whether the service can do its work, part by part.",
  query: noQuery,
  answers: {
    200: json("Every part is well.", readinessSchema),
    503: json("The parts that are not are named.", readinessSchema),
  },
  errors: [],
});

export const getMetrics = contract({
  method: "get",
  path: "/metrics",
  access: "admin",
  summary: "Counts and durations in the Prometheus text format.",
  query: noQuery,
  answers: { 200: { description: "The metrics.", content: { "text/plain": z.string() } } },
  errors: [],
});

export const getOpenApi = contract({
  method: "get",
  path: "/openapi.json",
  access: "public",
  summary: "This document.",
  query: noQuery,
  answers: { 200: json("OpenAPI 3.1.", z.record(z.string(), z.unknown())) },
  errors: [],
});

export const getStartPage = contract({
  method: "get",
  path: "/",
  access: "public",
  summary: "A page that says what runs here.",
  query: noQuery,
  answers: {
    200: {
      description: "A page, or plain text.",
      content: { "text/html": z.string(), "text/plain": z.string() },
    },
  },
  errors: [],
});
