/** The same loop with one tool in three libraries; started by `npm run bench:runs` with the name of one and the model server. */

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  Agent,
  tool as agentTool,
  OpenAIChatCompletionsModel,
  run as runAgent,
  setTracingDisabled,
} from "@openai/agents";
import { tool as aiTool, generateText, jsonSchema, stepCountIs, streamText } from "ai";
import OpenAI from "openai";
import { promptOf, serveOrders } from "../../scripts/lib/bench-worker.js";

const [, , way, url] = process.argv;
const baseURL = `${url}/v1`;
const INSTRUCTIONS = "You add numbers.";
const DESCRIPTION = "Adds two numbers.";
const PARAMETERS = {
  type: "object",
  properties: { a: { type: "number" }, b: { type: "number" } },
  required: ["a", "b"],
  additionalProperties: false,
};
const MAX_TURNS = 10;
const add = async ({ a, b }) => ({ sum: a + b });

/** The client alone, with a loop written by hand. */
function bareClient() {
  const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
  const tools = [
    { type: "function", function: { name: "add", description: DESCRIPTION, parameters: PARAMETERS } },
  ];
  return async (number, isStream) => {
    const messages = [
      { role: "system", content: INSTRUCTIONS },
      { role: "user", content: promptOf(number) },
    ];
    for (;;) {
      const body = { model: "scripted", messages, tools };
      const message = isStream ? await readStream(client, body) : await readWhole(client, body);
      messages.push(message);
      if (message.tool_calls === undefined) return message.content;
      for (const { id, function: called } of message.tool_calls) {
        const content = JSON.stringify(await add(JSON.parse(called.arguments)));
        messages.push({ role: "tool", tool_call_id: id, content });
      }
    }
  };
}

async function readWhole(client, body) {
  const { choices } = await client.chat.completions.create(body);
  return choices[0].message;
}

async function readStream(client, body) {
  const stream = await client.chat.completions.create({
    ...body,
    stream: true,
    stream_options: { include_usage: true },
  });
  let content = "";
  const calls = [];
  for await (const { choices } of stream)
    for (const { delta } of choices) {
      content += delta.content ?? "";
      for (const { index, id, function: called } of delta.tool_calls ?? []) {
        calls[index] ??= { id, type: "function", function: { name: called.name, arguments: "" } };
        calls[index].function.arguments += called.arguments;
      }
    }
  return calls.length === 0
    ? { role: "assistant", content }
    : { role: "assistant", content: null, tool_calls: calls };
}

function agents() {
  setTracingDisabled(true);
  const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
  const agent = new Agent({
    name: "adder",
    instructions: INSTRUCTIONS,
    model: new OpenAIChatCompletionsModel(client, "scripted"),
    tools: [
      agentTool({
        name: "add",
        description: DESCRIPTION,
        parameters: PARAMETERS,
        strict: true,
        execute: add,
      }),
    ],
  });
  return async (number, isStream) => {
    if (!isStream) return (await runAgent(agent, promptOf(number), { maxTurns: MAX_TURNS })).finalOutput;
    const result = await runAgent(agent, promptOf(number), { maxTurns: MAX_TURNS, stream: true });
    for await (const event of result) if (event === null) break;
    await result.completed;
    return result.finalOutput;
  };
}

function ai() {
  const model = createOpenAICompatible({ name: "bench", baseURL, includeUsage: true })("scripted");
  const tools = {
    add: aiTool({ description: DESCRIPTION, inputSchema: jsonSchema(PARAMETERS), execute: add }),
  };
  return async (number, isStream) => {
    const asked = {
      model,
      tools,
      system: INSTRUCTIONS,
      prompt: promptOf(number),
      stopWhen: stepCountIs(MAX_TURNS),
      maxRetries: 0,
    };
    if (!isStream) return (await generateText(asked)).text;
    const result = streamText(asked);
    for await (const part of result.fullStream) if (part.type === "error") throw part.error;
    return result.text;
  };
}

process.on("disconnect", () => process.exit());
serveOrders({ "openai client": bareClient, "@openai/agents": agents, ai }[way]());
