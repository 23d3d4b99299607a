/** Reads an engine address as DOCKER_HOST writes it. */
import { ServiceError } from "../../domain/errors.js";
import type { EngineConnection } from "./engine-api.js";

const DEFAULT_SOCKET = "/var/run/docker.sock";
const DEFAULT_PORT = 2375;

/**
 * @param address `unix:///path`, `tcp://host:port`, `http(s)://host:port`; empty = the default socket
 * @throws ServiceError `box.validation` for another kind of address
 */
export function parseEngineAddress(address: string): EngineConnection {
  if (address === "") return { socketPath: DEFAULT_SOCKET };
  if (address.startsWith("unix://")) return { socketPath: address.slice("unix://".length) };
  const url = URL.canParse(address) ? new URL(address) : null;
  const isHttp = url !== null && ["tcp:", "http:", "https:"].includes(url.protocol) && url.hostname !== "";
  if (url === null || !isHttp)
    throw new ServiceError("box.validation", "The engine's address is not one of the known kinds.", {
      hint: "Use unix:///path/to/socket, tcp://host:port or https://host:port.",
      param: "boxes.engines",
    });
  const protocol = url.protocol === "https:" ? "https" : "http";
  return { host: url.hostname, port: url.port === "" ? DEFAULT_PORT : Number(url.port), protocol };
}
