/** What a service under test has on the engine, found by its label, and how to clean it up. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type Docker from "dockerode";
import { z } from "zod";

const identity = z.object({ service_id: z.string() });

/** @param directory as `startService` gave it */
export async function serviceIdOf(directory: string): Promise<string> {
  const text = await readFile(join(directory, "data", "service.json"), "utf8");
  return identity.parse(JSON.parse(text)).service_id;
}

function owned(serviceId: string) {
  return { filters: JSON.stringify({ label: [`berth.service=${serviceId}`] }) };
}

export async function ownedContainers(
  engine: Docker,
  serviceId: string,
): Promise<readonly Docker.ContainerInfo[]> {
  return engine.listContainers({ all: true, ...owned(serviceId) });
}

export async function ownedVolumes(engine: Docker, serviceId: string): Promise<readonly string[]> {
  const { Volumes } = await engine.listVolumes(owned(serviceId));
  return Volumes.map(({ Name }) => Name);
}

/** Removes every container and volume of a service that is gone. */
export async function removeOwned(engine: Docker, serviceId: string): Promise<void> {
  for (const { Id } of await ownedContainers(engine, serviceId))
    await engine.getContainer(Id).remove({ force: true, v: true });
  for (const name of await ownedVolumes(engine, serviceId)) await engine.getVolume(name).remove();
}
