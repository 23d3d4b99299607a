import { describe, expect, it } from "vitest";
import { z } from "zod";
import { CONTRACTS } from "../../../src/http/contracts.js";
import { createOpenApiDocument, openApiPath } from "../../../src/http/openapi.js";

const document = createOpenApiDocument("1.2.3");
const operations = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
  Object.keys(z.record(z.string(), z.unknown()).parse(item)).map((method) => `${method} ${path}`),
);

describe("the OpenAPI document", () => {
  it("has every route, and no other", () => {
    const routes = CONTRACTS.map(({ method, path }) => `${method} ${openApiPath(path)}`);
    expect(operations.toSorted()).toEqual(routes.toSorted());
  });

  it("asks for a key on every route but the public ones", () => {
    const open = operations.filter((name) => {
      const [method = "", path = ""] = name.split(" ");
      const operation = z.record(z.string(), z.record(z.string(), z.unknown())).parse(document.paths?.[path])[
        method
      ];
      return operation?.["security"] === undefined;
    });
    const publicRoutes = CONTRACTS.filter(({ access }) => access === "public");
    expect(open.toSorted()).toEqual(
      publicRoutes.map(({ method, path }) => `${method} ${openApiPath(path)}`).toSorted(),
    );
  });

  it("names the shapes that clients use", () => {
    expect(Object.keys(document.components?.schemas ?? {})).toEqual(
      expect.arrayContaining(["CreateRun", "Run", "RunEvent", "File", "Error"]),
    );
  });

  it("is a document of OpenAPI 3.1 with the version of the service", () => {
    expect(document).toMatchObject({ openapi: "3.1.0", info: { title: "Berth", version: "1.2.3" } });
  });

  it("names each parameter of a path once", () => {
    const text = JSON.stringify(document.paths?.["/v1/runs/{id}/deliveries/{file_id}/ack"]);
    expect(text.match(/"in":"path"/g)).toHaveLength(2);
  });
});
