/** Under which address clients reach the service, for links in answers. */
import type { Request } from "express";

/**
 * @param publicUrl configured address; null = what the request itself used. The answer goes back to who sent the Host
 *   header, and to nobody else.
 * @returns without a slash at the end
 */
export function requestAddress(request: Request, publicUrl: string | null): string {
  return publicUrl ?? `${request.protocol}://${request.headers.host ?? ""}`;
}
