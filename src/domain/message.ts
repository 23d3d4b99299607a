/** Chat messages as models and history see them: the spelling of the OpenAI wire (style §2). */
import { z } from "zod";

export const textPartSchema = z.object({ type: z.literal("text"), text: z.string() });
export const imagePartSchema = z.object({
  type: z.literal("image_url"),
  image_url: z.object({ url: z.string() }),
});
export const messagePartSchema = z.discriminatedUnion("type", [textPartSchema, imagePartSchema]);
export type MessagePart = z.infer<typeof messagePartSchema>;

/** Unknown fields of a call (signatures, `extra_content`) are kept and go back unchanged (local-agent §12.18). */
export const toolCallSchema = z.looseObject({
  id: z.string(),
  type: z.literal("function"),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});
export type ToolCall = z.infer<typeof toolCallSchema>;

export const messageSchema = z.looseObject({
  role: z.enum(["system", "user", "assistant", "tool"]),
  content: z.union([z.string(), z.array(messagePartSchema), z.null()]),
  tool_calls: z.array(toolCallSchema).optional(),
  tool_call_id: z.string().optional(),
  name: z.string().optional(),
});
export type Message = z.infer<typeof messageSchema>;

/** The text of a message; text parts are joined with one space (runs §11.1). */
export function messageText(message: Pick<Message, "content">): string {
  if (message.content === null) return "";
  if (typeof message.content === "string") return message.content;
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(" ");
}
