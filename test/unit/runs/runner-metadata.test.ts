import { describe, expect, it } from "vitest";
import { describeRunners } from "../../../src/runs/runner-metadata.js";
import { aDescriptor, LOCAL_AGENT } from "../../support/builders.js";

const label = { en: "Item" };

describe("describeRunners", () => {
  it("gives one option per runner, and a stage to those that have something to set", () => {
    const tone = { id: "tone-id", name: "tone", type: "string", label };
    const agent = aDescriptor({ config: [tone] });
    const bare = aDescriptor({ name: "bare" });
    expect(describeRunners([agent, bare])).toEqual({
      options: [
        { name: LOCAL_AGENT, label: { en: "Test" } },
        { name: "plugin:berth/bare/default", label: { en: "Test" } },
      ],
      stages: [{ name: LOCAL_AGENT, label: { en: "Test" }, items: [tone] }],
    });
  });

  it("fills a missing id with the item's name, and without a name with its place", () => {
    const config = [
      { name: "tone", type: "string", label },
      { type: "string", label },
    ];
    const [stage] = describeRunners([aDescriptor({ config })]).stages;
    expect(stage?.items.map(({ id }) => id)).toEqual([`${LOCAL_AGENT}.tone`, `${LOCAL_AGENT}.1`]);
  });

  it.each(["knowledge-base-multi-selector", "select-knowledge-bases"])(
    "shows %s only where the runner retrieves",
    (type) => {
      const config = [{ name: "bases", type, label }];
      const idle = aDescriptor({ config });
      const reader = aDescriptor({ config, capabilities: { knowledge_retrieval: true } });
      expect(describeRunners([idle]).stages).toEqual([]);
      expect(describeRunners([reader]).stages).toHaveLength(1);
    },
  );
});
