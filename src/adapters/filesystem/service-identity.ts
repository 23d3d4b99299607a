/** Who this service is across restarts: the id its boxes are labelled with, and the secret its links are signed with. */
import { randomBytes } from "node:crypto";
import { link, mkdir, open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { ServiceError } from "../../domain/errors.js";

const identitySchema = z.object({
  service_id: z.string().regex(/^[0-9a-f]{32}$/),
  link_secret: z.string().regex(/^[0-9a-f]{64}$/),
});

export interface ServiceIdentity {
  /** Label of everything the service makes on an engine (box §11.11). */
  readonly serviceId: string;
  /** Key of signed links, hex. */
  readonly linkSecret: string;
}

/**
 * Reads the identity, or makes one on the first start. Two first starts at once agree on one.
 * @param directory The service's data directory; made if it is missing.
 * @throws ServiceError `service.not_ready` when the directory cannot be made, read or written
 */
export async function loadServiceIdentity(directory: string): Promise<ServiceIdentity> {
  try {
    return await readOrMake(directory);
  } catch (error) {
    const code = codeOf(error);
    if (code === null) throw error;
    throw new ServiceError("service.not_ready", `The data directory cannot be used (${code}).`, {
      hint: "Let the service's user write it, or choose another one by storage.directory or BERTH_DATA_DIR.",
      cause: error,
    });
  }
}

async function readOrMake(directory: string): Promise<ServiceIdentity> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, "service.json");
  const known = await readIdentity(path);
  if (known !== null) return known;
  await writeOnce(path, {
    service_id: randomBytes(16).toString("hex"),
    link_secret: randomBytes(32).toString("hex"),
  });
  const made = await readIdentity(path);
  if (made === null) throw new Error("The service's identity could not be written to its data directory.");
  return made;
}

async function readIdentity(path: string): Promise<ServiceIdentity | null> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
  const { service_id, link_secret } = identitySchema.parse(JSON.parse(text));
  return { serviceId: service_id, linkSecret: link_secret };
}

/** The whole file appears at once under its name, and only if nobody was faster. */
async function writeOnce(path: string, identity: z.infer<typeof identitySchema>): Promise<void> {
  const staging = `${path}.${randomBytes(8).toString("hex")}`;
  const file = await open(staging, "wx", 0o600);
  try {
    await file.writeFile(`${JSON.stringify(identity)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    await link(staging, path);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  } finally {
    await rm(staging, { force: true });
  }
}

/** Of the operating system; null for any other error. */
function codeOf(error: unknown): string | null {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
}
