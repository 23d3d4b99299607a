/** What others can see, as literals: a deliberate change edits the pin. */
import { describe, expect, it } from "vitest";
import { BOX_HOME, TOOL_RESULTS_DIR, WORKSPACE_ROOT } from "../../src/domain/box.js";
import { deliveryStateSchema } from "../../src/domain/delivery.js";
import { ERROR_CODES } from "../../src/domain/errors.js";
import { EVENT_TYPES } from "../../src/domain/event.js";
import { ID_PREFIXES } from "../../src/domain/ids.js";
import { FINISH_REASONS, RESULT_TYPES } from "../../src/domain/result.js";
import { publicStatusSchema, RUN_EVENT_TYPES, RUN_STATES } from "../../src/domain/run.js";
import { CONTRACTS } from "../../src/http/contracts.js";
import { DELIVERY_STATES, PINNED_CODES, PINNED_ROUTES } from "./pins.js";

describe("pins", () => {
  it("keeps the routes and who may use them", () => {
    const routes = CONTRACTS.map(({ method, path, access }) => `${method.toUpperCase()} ${path} ${access}`);
    expect(routes.toSorted()).toEqual(PINNED_ROUTES.toSorted());
  });

  it("keeps the error codes with status and retry", () => {
    const codes = Object.entries(ERROR_CODES).map(
      ([code, { status, retryable }]) => `${code} ${status}${retryable ? " again" : ""}`,
    );
    expect(codes.toSorted()).toEqual(PINNED_CODES.toSorted());
  });

  it("keeps the prefixes of ids", () => {
    expect(ID_PREFIXES).toEqual(["run", "ses", "file", "job", "term", "evt", "req"]);
  });

  it("keeps the types of results", () => {
    expect(RESULT_TYPES).toEqual([
      "message.delta",
      "message.completed",
      "tool.call.started",
      "tool.call.completed",
      "state.updated",
      "run.completed",
      "run.failed",
      "action.requested",
      "warning",
    ]);
    expect(FINISH_REASONS).toEqual(["stop", "terminate", "max_iterations", "loop"]);
  });

  it("keeps the types of events, in and out", () => {
    expect(RUN_EVENT_TYPES).toEqual([
      "run.started",
      "message.delta",
      "message.completed",
      "tool.call.started",
      "tool.output",
      "tool.call.completed",
      "attachment.imported",
      "delivery.created",
      "state.updated",
      "steering.injected",
      "action.requested",
      "warning",
      "run.completed",
      "run.failed",
      "run.cancelled",
    ]);
    expect(EVENT_TYPES).toEqual([
      "message.received",
      "message.recalled",
      "group.member_joined",
      "friend.request_received",
      "interaction.submitted",
    ]);
  });

  it("keeps the states of runs and deliveries", () => {
    expect(RUN_STATES).toEqual([
      "created",
      "queued",
      "claimed",
      "running",
      "completed",
      "failed",
      "cancelled",
      "timeout",
    ]);
    expect(publicStatusSchema.options).toEqual([
      "queued",
      "running",
      "completed",
      "failed",
      "cancelled",
      "timeout",
    ]);
    expect(deliveryStateSchema.options).toEqual(DELIVERY_STATES);
  });

  it("keeps the layout of the workspace", () => {
    expect([WORKSPACE_ROOT, BOX_HOME, TOOL_RESULTS_DIR]).toEqual([
      "/workspace",
      "/workspace/.home",
      "/workspace/.tool-results",
    ]);
  });
});
