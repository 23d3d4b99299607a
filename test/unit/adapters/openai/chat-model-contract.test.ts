import { type Behaviour, describeChatModel } from "../../../contracts/chat-model.js";
import {
  calls,
  cutAfter,
  hanging,
  rateLimited,
  ScriptedModel,
  type Step,
} from "../../../fakes/scripted-model.js";
import { bytes, chunk, hang, refuse, reply, type ServerStep } from "../../../fakes/scripted-model-server.js";
import { opened } from "../../../support/opened.js";
import { serveModel } from "./openai-model.js";

describeChatModel("scripted", async (behaviours) => {
  const model = new ScriptedModel(behaviours.map(toStep));
  return opened(model, async () => model.assertFinished());
});

describeChatModel("OpenAI-compatible server", async (behaviours) => {
  const served = await serveModel(behaviours.map(toServerStep));
  return opened(served.model, () => served[Symbol.asyncDispose]());
});

function toStep(behaviour: Behaviour): Step {
  switch (behaviour.kind) {
    case "reply":
      return calls(behaviour.calls, { text: behaviour.text, usage: behaviour.usage });
    case "rate_limited":
      return rateLimited();
    case "broken_off":
      return cutAfter(behaviour.text);
    default:
      return hanging();
  }
}

function toServerStep(behaviour: Behaviour): ServerStep {
  switch (behaviour.kind) {
    case "reply": {
      const wire = behaviour.calls.map(({ id, name, arguments: text }) => ({
        id,
        function: { name, arguments: text },
      }));
      return reply({ content: behaviour.text, calls: wire, usage: { ...behaviour.usage } });
    }
    case "rate_limited":
      return refuse(429, { message: "Rate limit reached.", code: "rate_limit_exceeded" });
    case "broken_off":
      return bytes([`data: ${JSON.stringify(chunk({ content: behaviour.text }))}\n\n`]);
    default:
      return hang();
  }
}
