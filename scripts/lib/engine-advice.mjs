/** What a user has to do by hand where no engine answers, as commands to copy. */
import { EXIT, Failure } from "./failure.mjs";

const GROUP = 'sudo usermod -aG docker "$USER"   # then log in again';
const SYSTEMD = "sudo systemctl enable --now docker";

const INSTALL = {
  debian: [
    "sudo apt-get update",
    "sudo apt-get install -y --no-install-recommends docker.io iptables",
    SYSTEMD,
    GROUP,
  ],
  fedora: ["sudo dnf install -y moby-engine", SYSTEMD, GROUP],
  macos: [
    "brew install colima docker && colima start   # or start Docker Desktop",
    'export DOCKER_HOST="unix://$HOME/.colima/default/docker.sock"   # Docker Desktop: $HOME/.docker/run/docker.sock',
  ],
  other: ["# install Docker Engine as https://docs.docker.com/engine/install/ says, start it, then", GROUP],
};

/**
 * @param {{ family: keyof typeof INSTALL, isRoot: boolean, dockerHost: string | undefined, code: string }} facts
 * @returns {string[]} commands
 */
function commandsFor({ family, isRoot, dockerHost, code }) {
  if (dockerHost) return [`docker -H ${dockerHost} version   # start this engine, or: unset DOCKER_HOST`];
  if (code === "EACCES") return [GROUP];
  const commands = INSTALL[family];
  return isRoot
    ? commands.filter((line) => line !== GROUP).map((line) => line.replaceAll("sudo ", ""))
    : commands;
}

/**
 * @param {string} problem one sentence
 * @param {Parameters<typeof commandsFor>[0]} facts
 */
export function noEngine(problem, facts) {
  const commands = commandsFor(facts).map((line) => `  ${line}`);
  const hint = ["Boxes are containers, so Berth needs a container engine. Next step:", ...commands].join(
    "\n",
  );
  return new Failure(problem, { hint, exitCode: EXIT.unavailable });
}
