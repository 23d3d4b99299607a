import { describe, expect, it } from "vitest";
import { authoriseKnowledgeBases } from "../../../src/runs/authorise-knowledge.js";
import { aBinding, aDescriptor, aPolicy } from "../../support/builders.js";
import { proves } from "../../support/proves.js";

const SCHEMA = [{ name: "bases", type: "knowledge-base-multi-selector", label: { en: "Bases" } }];
const BASES = new Map(["manual", "prices"].map((id) => [id, { id, name: `The ${id}` }]));

function authorise(bases: unknown, allowed: string[], operations: readonly string[] = ["list", "retrieve"]) {
  const binding = aBinding({ config: { bases }, policy: aPolicy({ allowed_kb_uuids: allowed }) });
  const descriptor = aDescriptor({ config: SCHEMA, permissions: { knowledge_bases: operations } });
  return authoriseKnowledgeBases(binding, descriptor, BASES);
}

describe("authoriseKnowledgeBases", () => {
  it("grants the union of what config and policy name, each once", () => {
    proves("AUTH-07");
    expect(authorise(["manual"], ["prices", "manual"])).toEqual({
      granted: [
        { kb_id: "manual", name: "The manual", operations: ["list", "retrieve"] },
        { kb_id: "prices", name: "The prices", operations: ["list", "retrieve"] },
      ],
      warnings: [],
    });
  });

  it("grants the operations of the manifest, and nothing to a runner without any", () => {
    expect(authorise(["manual"], [], ["retrieve"]).granted[0]?.operations).toEqual(["retrieve"]);
    expect(authorise(["manual", "gone"], ["prices"], [])).toEqual({ granted: [], warnings: [] });
  });

  it("skips one that is not configured, and says so", () => {
    expect(authorise(["gone", "manual"], ["gone"])).toEqual({
      granted: [expect.objectContaining({ kb_id: "manual" })],
      warnings: [
        {
          code: "resources.knowledge_base_missing",
          message: 'The knowledge base "gone" is selected but not configured; it is skipped.',
        },
      ],
    });
  });
});
