import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { RunEvent } from "../../../../src/domain/run.js";
import { verifyLink } from "../../../../src/runs/signed-link.js";
import { webhookBody } from "../../../../src/runs/webhooks/webhook-body.js";

const bodySchema = z.looseObject({ data: z.looseObject({ url: z.string().default("") }) });
const PLACE = { tenant: "main", linkSecret: "secret", publicUrl: "https://berth.example/" };
const AT = "2026-01-01T00:00:00.000Z";
const WEEK_LATER = Date.parse(AT) / 1000 + 7 * 24 * 3600;

const anEvent = (fields: Pick<RunEvent, "type" | "data">): RunEvent => ({
  ...fields,
  run_id: "run_1",
  sequence: 3,
  timestamp: AT,
});

describe("webhookBody", () => {
  it("tells of a delivery with its run and an absolute link that works for seven days", () => {
    const event = anEvent({ type: "delivery.created", data: { id: "file_1", name: "a.csv" } });
    const { body, files } = webhookBody(event, PLACE);
    expect(files).toEqual(["file_1"]);
    const told = bodySchema.parse(JSON.parse(body));
    expect(told).toMatchObject({
      type: "delivery.created",
      timestamp: AT,
      data: { id: "file_1", name: "a.csv", run_id: "run_1" },
    });
    const url = new URL(told.data.url);
    expect(url.origin + url.pathname).toBe("https://berth.example/v1/links/file_1");
    const token = url.searchParams.get("token") ?? "";
    const grant = { tenant: "main", fileId: "file_1", expiresAt: WEEK_LATER };
    expect(verifyLink("secret", { fileId: "file_1", token }, Date.parse(AT))).toEqual(grant);
  });

  it("tells of a run with a link for each of its files, the same in each attempt", () => {
    const data = { id: "run_1", status: "completed", deliveries: [{ id: "file_1" }, { id: "file_2" }] };
    const event = anEvent({ type: "run.completed", data });
    const first = webhookBody(event, PLACE);
    expect(first.files).toEqual(["file_1", "file_2"]);
    expect(webhookBody(event, PLACE)).toEqual(first);
    expect(bodySchema.parse(JSON.parse(first.body)).data).toMatchObject({ id: "run_1", status: "completed" });
  });

  it("gives links as paths where the service does not know its public address", () => {
    const event = anEvent({ type: "run.failed", data: { id: "run_1", deliveries: [{ id: "file_1" }] } });
    expect(webhookBody(event, { ...PLACE, publicUrl: null }).body).toContain(
      '"url":"/v1/links/file_1?token=',
    );
  });

  it("needs no files", () => {
    expect(webhookBody(anEvent({ type: "run.failed", data: { id: "run_1" } }), PLACE).files).toEqual([]);
  });
});
