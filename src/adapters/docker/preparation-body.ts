/** Short-lived containers of root that touch a workspace while no box has it: to make it ready, and to put files into it. */
import { BOX_HOME, type BoxSettings, TOOL_RESULTS_DIR, WORKSPACE_ROOT } from "../../domain/box.js";
import type { BoxPlace } from "../../ports/box-backend.js";
import {
  type CreateBody,
  commonUlimits,
  fileSizeLimit,
  HELPER_PROGRAM,
  type HelperMount,
  helperMount,
  IDLE,
  isolation,
  MIB,
  processBody,
  runtimeOf,
  shortLife,
  workspaceMount,
} from "./container-body.js";
import { LABEL, ownerLabels } from "./labels.js";

const ROOT = "0:0";

/** What a container has to see of a volume that the kernel bounds; otherwise another one is mounted, or a directory. */
export interface VolumeCheck {
  readonly device: number;
  readonly maxBytes: number;
}

/** Exit code of a preparation that sees another volume than was made. */
export const WRONG_VOLUME = 40;

export interface PreparationInput {
  readonly serviceId: string;
  readonly place: Omit<BoxPlace, "container">;
  readonly settings: Pick<BoxSettings, "image" | "workspaceQuotaMb" | "runtime">;
  readonly seccomp: string;
  readonly check?: VolumeCheck | null | undefined;
}

/** The body of the short-lived container that makes a workspace ready before untrusted code sees it (security §3.1). */
export function makePreparationBody({
  serviceId,
  place,
  settings,
  seccomp,
  check = null,
}: PreparationInput): CreateBody {
  const words = [place.uid, check?.device ?? "", check?.maxBytes ?? ""].map(String);
  return {
    ...processBody(settings.image, ROOT, ["/bin/sh", "-c", PREPARE, "prepare", ...words]),
    ...preparation({ serviceId, place, settings, seccomp }),
  };
}

/**
 * The body of the short-lived container that files come through into a workspace which its box can only read: root, with
 * the helper or, without one, with nothing but what the image has (security §7.1).
 */
export function makeImportBody({ helper = null, ...input }: ImportInput): CreateBody {
  const made = preparation(input);
  const mounts = [...made.HostConfig.Mounts, ...(helper === null ? [] : [helperMount(helper, true)])];
  return {
    ...processBody(input.settings.image, ROOT, helper === null ? IDLE : [HELPER_PROGRAM, "hold"]),
    HostConfig: {
      ...made.HostConfig,
      Mounts: mounts,
      PidsLimit: 64,
      Memory: 128 * MIB,
      MemorySwap: 128 * MIB,
    },
    Labels: made.Labels,
  };
}

export interface ImportInput extends Omit<PreparationInput, "check"> {
  readonly helper?: HelperMount | null | undefined;
}

/** What preparation containers have in common: root with the least that can give files away, and the workspace. */
function preparation({ serviceId, place, settings, seccomp }: Omit<PreparationInput, "check">) {
  return {
    HostConfig: {
      ...isolation(seccomp),
      ...runtimeOf(settings),
      CapAdd: ["CHOWN", "DAC_OVERRIDE", "FOWNER"],
      Mounts: [workspaceMount(place.volume, false)],
      ...shortLife(),
      Ulimits: [...commonUlimits(), fileSizeLimit(settings)],
    },
    Labels: {
      ...ownerLabels({ serviceId, sessionId: place.sessionId, tenant: place.tenant }),
      [LABEL.uid]: String(place.uid),
      [LABEL.purpose]: "preparation",
    },
  };
}

/** Runs as root on a tree that a box may have written, so it follows no link. Arguments: uid, device, most bytes. */
const PREPARE = `set -eu
cd ${WORKSPACE_ROOT}
if [ -n "$2" ] && [ "$(stat -c %d .)" != "$2" ]; then exit ${WRONG_VOLUME}; fi
if [ -n "$3" ] && [ $(($(stat -f -c %b .) * $(stat -f -c %S .))) -gt "$3" ]; then exit ${WRONG_VOLUME}; fi
owner=$(stat -c %u .)
if [ "$owner" != 0 ] && [ "$owner" != "$1" ]; then chown -R -h "$1:$1" .; fi
for name in ${BOX_HOME} ${TOOL_RESULTS_DIR} ${WORKSPACE_ROOT}/inbox ${WORKSPACE_ROOT}/outbox; do
  if [ ! -L "$name" ] && [ ! -e "$name" ]; then mkdir -m 0755 "$name"; fi
  chown -h "$1:$1" "$name"
done
chmod 0700 .
chown "$1:$1" .`;
