/** The container that fills the helper's volume, and how the helper is told to dial in. */
import {
  CHANNEL_PLACE,
  type CreateBody,
  channelMounts,
  commonUlimits,
  HELPER_PROGRAM,
  type HelperMount,
  HOLDER,
  helperMount,
  isolation,
  processBody,
  shortLife,
} from "./container-body.js";
import { LABEL } from "./labels.js";
import { SOCKET_NAME } from "./socket-places.js";
import type { DialPlan } from "./socket-transport.js";

export interface HelperBodyInput {
  readonly serviceId: string;
  readonly image: string;
  readonly helper: HelperMount;
  readonly seccomp: string;
  /** Where the program dials in to prove that it can; without one it only runs. */
  readonly dial?: DialPlan | null | undefined;
}

/** How the helper is told to dial in. */
export function dialCommand(options: readonly string[] = []): readonly string[] {
  return [HELPER_PROGRAM, "serve", ...options, "--dial", `${CHANNEL_PLACE}/${SOCKET_NAME}`];
}

/** What the helper shows the service, so that nobody else in the box is taken for it. */
export function dialEnvironment({ token }: DialPlan): readonly string[] {
  return [`BOXD_TOKEN=${token}`];
}

/**
 * The body of the short-lived container with which the engine fills the helper's volume from the image, as it does with
 * an empty one when it makes the container. It runs the program once from there: exit code 0 says that it can be used.
 */
export function makeHelperBody({
  serviceId,
  image,
  helper,
  seccomp,
  dial = null,
}: HelperBodyInput): CreateBody {
  const command = dial === null ? [HELPER_PROGRAM, "version"] : dialCommand(["--root", "/"]);
  return {
    ...processBody(image, HOLDER, command),
    Env: dial === null ? [] : dialEnvironment(dial),
    HostConfig: {
      ...isolation(seccomp),
      Mounts: [helperMount(helper, false), ...channelMounts(dial?.place ?? null)],
      ...shortLife(),
      Ulimits: commonUlimits(),
    },
    Labels: { [LABEL.service]: serviceId, [LABEL.purpose]: "helper" },
  };
}
