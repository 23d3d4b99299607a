/** What keeps a box apart and bounded, each thing by itself, and whether a box of the engine really has it (box §10.1, security §4). */

export const CONTROL_NAMES = [
  "non-root-uids",
  "no-capabilities",
  "no-new-privileges",
  "seccomp",
  "refused-calls",
  "network-none",
  "read-only-root",
  "kernel-settings-read-only",
  "private-ipc",
  "private-cgroup",
  "no-devices",
  "no-engine-socket",
  "clean-environment",
  "closed-first-process",
  "init-reaps",
  "workspace-mode",
  "workspace-quota",
  "file-size-limit",
  "open-file-limit",
  "memory-limit",
  "pids-limit",
  "cpu-limit",
  "apparmor",
  "selinux",
] as const;
export type ControlName = (typeof CONTROL_NAMES)[number];

/** `unknown`: it could be neither seen nor tried. */
export const CONTROL_STATES = ["enforced", "ignored", "unknown"] as const;
export type ControlState = (typeof CONTROL_STATES)[number];

export interface BoxControl {
  readonly name: ControlName;
  readonly state: ControlState;
  /** What was seen, and what was wanted where that is another thing; without a full stop. */
  readonly detail: string;
}
