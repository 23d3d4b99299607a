/** Which host names and addresses reach this machine only. */
import { isIPv4 } from "node:net";

/** True for `localhost`, names below it, 127.0.0.0/8 and ::1; `host` without port, IPv6 with or without brackets. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, "");
  if (name === "localhost" || name.endsWith(".localhost") || name === "::1") return true;
  return isIPv4(name) && name.startsWith("127.");
}
