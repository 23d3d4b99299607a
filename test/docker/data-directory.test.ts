/** Where the data directory may lie: the whole way of a file through it, with a real box (box §10.4). */
import { mkdtemp } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import Docker from "dockerode";
import { describe, expect, inject, it } from "vitest";
import { runSchema } from "../../src/domain/run.js";
import { CleanupStack } from "../../src/lib/cleanup-stack.js";
import { sendMessage } from "../support/composed-service.js";
import { removeServiceDirectory } from "../support/data-directory.js";
import { proves } from "../support/proves.js";
import { removeOwned, serviceIdOf } from "../support/service-boxes.js";
import { startServiceProcess } from "../support/service-process.js";

const COMMAND = 'cat "$BERTH_INBOX"/0/in.txt > "$BERTH_OUTBOX/out.txt"; pwd';

/** Sends a file through a service that keeps its data there. */
async function passFile(directory: string): Promise<string> {
  await using service = await startServiceProcess({
    directory,
    settings: { boxes: { image: "berth-box:slim" } },
  });
  const id = await serviceIdOf(directory);
  await using _boxes = new CleanupStack([() => removeOwned(new Docker(), id)]);
  const file = { type: "file_base64", name: "in.txt", data: Buffer.from("through").toString("base64") };
  const run = runSchema.parse(
    await sendMessage(service.url, {
      chat: { launcher_id: "42" },
      input: { text: `\`\`\`bash\n${COMMAND}\n\`\`\``, contents: [file] },
    }),
  );
  const bytes = await (await fetch(`${service.url}${run.deliveries[0]?.url}`)).text();
  await service.kill("SIGTERM");
  return bytes;
}

describe.skipIf(!inject("dockerAvailable"))("a data directory", () => {
  it.each([
    ["in the home of the user, root's too", homedir(), ".berth-test-"],
    ["with spaces in its name", tmpdir(), "berth test with spaces "],
  ])("works %s", async (_where, parent, name) => {
    proves("BOX-28");
    await using made = new CleanupStack();
    const directory = await mkdtemp(join(parent, name));
    made.defer(() => removeServiceDirectory(directory));
    expect(await passFile(directory)).toBe("through");
  });
});
