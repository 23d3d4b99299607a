/** The adapter against a scripted server. */
import { OpenAiChatModel } from "../../../../src/adapters/openai/openai-chat-model.js";
import type { OpenAiModelSettings } from "../../../../src/adapters/openai/settings.js";
import { ServiceError } from "../../../../src/domain/errors.js";
import type { ChatChunk, ChatRequest } from "../../../../src/ports/chat-model.js";
import {
  type ScriptedModelServer,
  type ScriptedServerOptions,
  type ServerStep,
  startScriptedModelServer,
} from "../../../fakes/scripted-model-server.js";

export const ASK: ChatRequest = { messages: [{ role: "user", content: "Hi" }], tools: [] };
export const never = new AbortController().signal;

export interface ServedModel extends AsyncDisposable {
  readonly model: OpenAiChatModel;
  readonly server: ScriptedModelServer;
}

export async function serveModel(
  steps: readonly ServerStep[],
  settings: Partial<OpenAiModelSettings> = {},
  options: ScriptedServerOptions = {},
): Promise<ServedModel> {
  return asServed(await startScriptedModelServer(steps, options), settings);
}

function asServed(server: ScriptedModelServer, settings: Partial<OpenAiModelSettings>): ServedModel {
  const model = new OpenAiChatModel(modelSettings(server.baseUrl, settings));
  return { model, server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

export function modelSettings(
  baseUrl: string,
  settings: Partial<OpenAiModelSettings> = {},
): OpenAiModelSettings {
  return {
    baseUrl,
    apiKey: "secret-key-of-the-test",
    model: "test-model",
    extraArgs: {},
    abilities: ["func_call"],
    maxOutputTokens: null,
    firstChunkMs: 60_000,
    idleMs: 120_000,
    ...settings,
  };
}

export async function collect(stream: AsyncIterable<ChatChunk>): Promise<readonly ChatChunk[]> {
  const chunks: ChatChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

export function textOf(chunks: readonly ChatChunk[]): string {
  return chunks.map(({ text }) => text ?? "").join("");
}

/** @throws whatever is no ServiceError */
export async function failureOf(work: Promise<unknown>): Promise<ServiceError> {
  const error: unknown = await work.then(
    () => new Error("It did not fail."),
    (thrown: unknown) => thrown,
  );
  if (error instanceof ServiceError) return error;
  throw error;
}
