/** The volume that holds the helper's program: filled once per engine and version, mounted read-only into every box. */
import { ServiceError } from "../../domain/errors.js";
import { SingleFlight } from "../../lib/single-flight.js";
import type { IdSource } from "../../ports/id-source.js";
import type { CallOptions } from "../../ports/options.js";
import { type HelperMount } from "./container-body.js";
import { missingImage } from "./engine-errors.js";
import { makeHelperBody } from "./helper-body.js";
import { HELPER_VOLUME_PREFIX, removeIdleHelpers } from "./idle-helpers.js";
import { LABEL } from "./labels.js";
import { type ContainerWork, runToEnd } from "./run-to-end.js";
import type { DialPlan, SocketTransport } from "./socket-transport.js";

const VERSION_DIGITS = 16;

export interface HelperVolumeDeps extends ContainerWork {
  readonly serviceId: string;
  readonly image: string;
  readonly seccomp: string;
  readonly ids: IdSource;
  /** Null where boxes are served over exec streams. */
  readonly sockets: SocketTransport | null;
}

export class HelperVolume {
  readonly #deps: HelperVolumeDeps;
  readonly #flight = new SingleFlight<"fill", HelperMount>();
  #mount: HelperMount | null = null;

  constructor(deps: HelperVolumeDeps) {
    this.#deps = deps;
  }

  /**
   * The volume, filled and tried. Services that share an engine share it: its name tells the image's content.
   * @throws ServiceError `box.readiness` when there is no helper to be had
   */
  async ready(options: CallOptions): Promise<HelperMount> {
    const { calls } = this.#deps;
    if (this.#mount !== null && (await calls.hasVolume(this.#mount.volume, options))) return this.#mount;
    return this.#flight.run("fill", async (signal) => this.#fill({ signal }), options);
  }

  async #fill(options: CallOptions): Promise<HelperMount> {
    const { calls, serviceId, image, seccomp, ids, sockets } = this.#deps;
    const id = await calls.imageId(image, options);
    if (id === null) throw missingImage(image);
    const version = id.replace(/^sha256:/u, "").slice(0, VERSION_DIGITS);
    const helper = { volume: `${HELPER_VOLUME_PREFIX}${version}`, version };
    const labels = await calls.createVolume(helper.volume, { [LABEL.helper]: version }, options);
    if (labels[LABEL.helper] !== version)
      throw new ServiceError("box.readiness", "A volume of somebody else has the name of the helper's.", {
        hint: "Remove or rename that volume.",
        details: { volume: helper.volume },
      });
    const fill = async (dial: DialPlan | null): Promise<number> => {
      const name = `${helper.volume}-${ids.randomHex(8)}`;
      const body = makeHelperBody({ serviceId, image, helper, seccomp, dial });
      return runToEnd(this.#deps, { name, body }, options);
    };
    // The proof fills it as well; it is repeated without one where it fails.
    const hasDialled = sockets !== null && sockets.isProven !== false && (await sockets.prove(fill, options));
    const exitCode = hasDialled ? 0 : await fill(null);
    if (exitCode !== 0)
      throw new ServiceError(
        "box.readiness",
        `The helper cannot run on this engine (exit code ${exitCode}).`,
        {
          hint: "Build its image anew with `npm run image -- --target boxd`.",
        },
      );
    this.#mount = helper;
    await removeIdleHelpers(this.#deps, helper.volume, options);
    return helper;
  }
}
