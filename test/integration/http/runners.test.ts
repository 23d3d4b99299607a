import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runnerMetadataSchema } from "../../../src/http/schemas/runner-bodies.js";
import { LOCAL_AGENT } from "../../support/builders.js";
import { ADMIN_KEY, type HttpService, startHttpService } from "../../support/http-service.js";

let service: HttpService;
beforeEach(async () => {
  service = await startHttpService();
});
afterEach(async () => {
  await service[Symbol.asyncDispose]();
});

describe("GET /v1/runners", () => {
  it("shows an admin the runners there are", async () => {
    const answer = await service.fetch("/v1/runners", { key: ADMIN_KEY });
    expect(answer.status).toBe(200);
    expect(runnerMetadataSchema.parse(await answer.json())).toEqual({
      options: [{ name: LOCAL_AGENT, label: { en: "Test" } }],
      stages: [],
    });
  });

  it("is not for client keys", async () => {
    expect((await service.fetch("/v1/runners")).status).toBe(403);
  });
});
