/** What a service under test has on the engine, found by its label, and how to clean it up. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type Docker from "dockerode";
import { z } from "zod";

/** The box of a self-check comes and goes beside the service's work. */
const CHECK = "/berth-check-";

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
  const all = await engine.listContainers({ all: true, ...owned(serviceId) });
  return all.filter(({ Names: names }) => !names.some((name) => name.startsWith(CHECK)));
}

export async function ownedVolumes(engine: Docker, serviceId: string): Promise<readonly string[]> {
  const { Volumes } = await engine.listVolumes(owned(serviceId));
  return Volumes.map(({ Name }) => Name).filter((name) => !`/${name}`.startsWith(CHECK));
}

/** Removes every container and volume of a service that is gone. */
export async function removeOwned(engine: Docker, serviceId: string): Promise<void> {
  for (const { Id } of await engine.listContainers({ all: true, ...owned(serviceId) }))
    await engine.getContainer(Id).remove({ force: true, v: true });
  const { Volumes } = await engine.listVolumes(owned(serviceId));
  for (const { Name } of Volumes) await engine.getVolume(Name).remove();
}
