/** Bots: what the operator says of each chat bot that sends its id with a message (runs §3.4). */
import { z } from "zod";

const botSchema = z.strictObject({
  id: z.string().min(1).max(512).meta({ description: "The bot's id, as in `chat.bot_id` of its messages." }),
  allowed_plugins: z
    .array(
      z
        .string()
        .regex(/^[^\s/]+\/[^\s/]+$/)
        .meta({ allowed: "<author>/<plugin>" }),
    )
    .max(1000)
    .nullable()
    .default(null)
    .meta({
      description: "Packages whose runners the bot may use; null = every one. What ships is always allowed.",
      allowed: "a list of <author>/<plugin>, or null",
    }),
});

export const botsSchema = z.array(botSchema).max(10_000).default([]).meta({
  description: "Bots that may not use everything. A bot that is not listed may.",
});
