/** What the local agent declares: its form, its capabilities, its permissions (runs §2). */

const label = (en: string, zh: string) => ({ en, zh });

const CONFIG = [
  { name: "model", type: "model-fallback-selector", label: label("Model", "模型"), required: true },
  {
    name: "timeout",
    type: "integer",
    label: label("Time limit (seconds)", "超时时间（秒）"),
    description: label("0 switches the runner's own limit off.", "0 表示关闭运行器自身的限制。"),
    default: 300,
  },
  {
    name: "prompt",
    type: "prompt-editor",
    label: label("Prompt", "提示词"),
    default: [{ role: "system", content: "You are a helpful assistant." }],
  },
  {
    name: "remove-think",
    type: "boolean",
    label: label("Hide thinking", "隐藏思考过程"),
    default: false,
  },
  { name: "box-enabled", type: "boolean", label: label("Use a box", "启用沙箱"), default: true },
  {
    name: "box-session-id-template",
    type: "string",
    label: label("Chats that share a box", "共享沙箱的范围"),
    description: label(
      "Template of the key under which a box is reused; the default gives one box per chat.",
      "复用沙箱的键模板；默认每个会话一个沙箱。",
    ),
    default: "{launcher_type}_{launcher_id}",
  },
  {
    name: "advanced-settings",
    type: "boolean",
    label: label("Show advanced settings", "显示高级设置"),
    default: false,
  },
  {
    name: "date-grounding",
    type: "boolean",
    label: label("Tell the model today's date", "告知模型当天日期"),
    default: true,
  },
  {
    name: "max-tool-iterations",
    type: "integer",
    label: label("Tool rounds per message", "每条消息的工具轮数上限"),
    default: 100,
  },
  {
    name: "tool-execution-mode",
    type: "select",
    label: label("Tool calls of one reply run", "同一回复中的工具调用"),
    default: "parallel",
    options: [
      { name: "parallel", label: label("in parallel", "并行执行") },
      { name: "serial", label: label("one after the other", "依次执行") },
    ],
  },
  {
    name: "max-tool-result-chars",
    type: "integer",
    label: label("Characters of one tool result", "单个工具结果的字符上限"),
    default: 20_000,
  },
  {
    name: "context-history-fetch-limit",
    type: "integer",
    label: label("Messages of history", "历史消息条数"),
    default: 50,
  },
];

export const LOCAL_AGENT_MANIFEST = {
  kind: "AgentRunner",
  metadata: {
    name: "default",
    author: "berth",
    plugin: "local-agent",
    version: "0.1.0",
    label: label("Local agent", "本地智能体"),
    description: label(
      "Calls the configured models and works with tools in the chat's own box.",
      "调用已配置的模型，并在会话专属的沙箱中使用工具。",
    ),
  },
  spec: {
    config: CONFIG,
    capabilities: {
      streaming: true,
      tool_calling: true,
      multimodal_input: true,
      interrupt: true,
      steering: true,
    },
    permissions: {
      models: ["invoke", "stream"],
      tools: ["detail", "call"],
      history: ["page"],
    },
  },
};
