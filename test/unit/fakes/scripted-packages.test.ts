import type { PluginEvent } from "../../../src/ports/plugin-packages.js";
import { describePluginPackages } from "../../contracts/plugin-packages.js";
import { aManifest, ScriptedPackages } from "../../fakes/scripted-packages.js";
import { completed, message } from "../../fakes/scripted-runner.js";
import { opened } from "../../support/opened.js";

describePluginPackages("scripted", async () => {
  const listener = {
    id: "acme/echo",
    manifests: [aManifest()],
    listensTo: ["message.received"] as const,
    answer: async ({ text }: PluginEvent) => {
      if (text === "fail") throw new Error("deaf");
      return { heard: text };
    },
  };
  return opened(
    new ScriptedPackages([listener], async function* ({ run_id }) {
      yield { ...message("Answer"), run_id };
      yield { ...completed(), run_id };
    }),
  );
});
