/** What is kept for older versions and for configurations of other hosts (runs §5.4). */
import { z } from "zod";

export const compatSchema = z
  .strictObject({
    write_legacy_keys: z.boolean().default(true).meta({
      description:
        "Whether `berth migrate-config` writes bindings so that older versions find them too: in `ai`, with the old keys beside the new ones.",
    }),
  })
  .prefault({})
  .meta({ description: "Compatibility with older configurations." });
