/** Containers of boxes on the engine: found, made and listed; one of another session's is never taken for ours. */
import { ServiceError } from "../../domain/errors.js";
import { delay } from "../../lib/delay.js";
import type { BoxPlace, ContainerState, OwnedContainer } from "../../ports/box-backend.js";
import type { CallOptions } from "../../ports/options.js";
import type { CreateBody } from "./container-body.js";
import { missingImage, slowEngine } from "./engine-errors.js";
import type { ContainerSummary, ContainerView } from "./engine-views.js";
import { LABEL, ownerLabels, readUid, requireOwner } from "./labels.js";
import type { ContainerWork } from "./run-to-end.js";

const CREATION_MS = 30_000;
const LOOK_AGAIN_MS = 100;

export interface BoxContainersDeps extends Pick<ContainerWork, "calls" | "clock" | "shortLived"> {
  readonly serviceId: string;
}

export class BoxContainers {
  readonly #deps: BoxContainersDeps;

  constructor(deps: BoxContainersDeps) {
    this.#deps = deps;
  }

  /** Of this service, the self-check's among them; those that work for us at this moment are none. */
  async list(options: CallOptions): Promise<readonly OwnedContainer[]> {
    const label = `${LABEL.service}=${this.#deps.serviceId}`;
    const containers = await this.#deps.calls.listContainers({ label: [label] }, options);
    return containers.filter((container) => !this.#isPreparing(container)).map(describeOwned);
  }

  /** Of all boxes on the engine, also of other services. */
  async listUids(options: CallOptions): Promise<readonly number[]> {
    const containers = await this.#deps.calls.listContainers({ label: [LABEL.uid] }, options);
    return [...new Set(containers.flatMap(({ Labels: labels }) => readUid(labels) ?? []))];
  }

  /** @throws ServiceError `box.conflict` when the container of that name is another session's */
  async find(place: BoxPlace, options: CallOptions): Promise<ContainerView | null> {
    const view = await this.#deps.calls.inspectContainer(place.container, options);
    if (view === null) return null;
    requireOwner(view.Config.Labels, {
      ...ownerLabels({ serviceId: this.#deps.serviceId, ...place }),
      [LABEL.uid]: String(place.uid),
    });
    return view;
  }

  /**
   * @throws ServiceError `box.validation` for an image with volumes; `box.not_found` when the workspace is not there;
   *   `box.conflict` when the name is another session's; `box.readiness` without the image
   */
  async create(place: BoxPlace, body: CreateBody, options: CallOptions): Promise<void> {
    const volumes = await this.#deps.calls.imageVolumes(body.Image, options);
    if (volumes === null) throw missingImage(body.Image);
    if (volumes.length > 0)
      throw new ServiceError(
        "box.validation",
        `The image ${JSON.stringify(body.Image)} declares volumes, which no quota of a box covers.`,
        { hint: "Use an image without VOLUME.", details: { image: body.Image, volumes: volumes.length } },
      );
    // Mounting a volume that is not there would make an empty one without a word.
    if (!(await this.#deps.calls.hasVolume(place.volume, options)))
      throw new ServiceError("box.not_found", "The workspace of the session is not on the engine.", {
        hint: "Prepare a new workspace; the files of the old one are gone.",
      });
    const until = this.#deps.clock.elapsed() + CREATION_MS;
    while (!(await this.#createOnce(place, body, options))) {
      if (this.#deps.clock.elapsed() > until) throw slowEngine("create a container", CREATION_MS);
      await delay(LOOK_AGAIN_MS, options);
    }
  }

  /** A workspace is mounted in one container at a time; one that a box has mounted has been prepared. */
  async isMounted(place: Omit<BoxPlace, "container">, options: CallOptions): Promise<boolean> {
    const containers = await this.#deps.calls.listContainers({ volume: [place.volume] }, options);
    const running = containers.filter(
      ({ State: state, Labels: labels }) => state === "running" && !labels[LABEL.purpose],
    );
    if (running.some(({ Labels: labels }) => readUid(labels) !== place.uid))
      throw new ServiceError("box.conflict", "The workspace is mounted in a running box of another uid.", {
        hint: "Remove the container first.",
      });
    return running.length > 0;
  }

  /** @returns false while somebody else has taken the name and the engine does not know the container yet */
  async #createOnce(place: BoxPlace, body: CreateBody, options: CallOptions): Promise<boolean> {
    const outcome = await this.#deps.calls.createContainer(place.container, body, options);
    if (outcome === "no_image") throw missingImage(body.Image);
    return outcome === "done" || (await this.find(place, options)) !== null;
  }

  #isPreparing(summary: ContainerSummary): boolean {
    return summary.Labels[LABEL.purpose] !== undefined && this.#deps.shortLived.has(nameOf(summary));
  }
}

/** Settings that differ always count; another helper or way to it only where nothing runs that it could disturb. */
export function mustBeMadeAnew(view: ContainerView, { Labels: wanted }: CreateBody): boolean {
  const { Labels: labels } = view.Config;
  if (labels[LABEL.settings] !== wanted[LABEL.settings]) return true;
  const isServedOtherwise = [LABEL.helper, LABEL.channel].some((label) => labels[label] !== wanted[label]);
  return readState(view.State.Status) === "stopped" && isServedOtherwise;
}

/** The engine's word for what a container does, in ours. */
export function readState(status: string): ContainerState {
  if (status === "running" || status === "paused") return status;
  return "stopped";
}

function nameOf({ Names: names }: ContainerSummary): string {
  return (names[0] ?? "").replace(/^\//u, "");
}

function describeOwned(summary: ContainerSummary): OwnedContainer {
  const { State: state, Labels: labels } = summary;
  return {
    name: nameOf(summary),
    sessionId: labels[LABEL.session] ?? null,
    uid: readUid(labels),
    state: readState(state),
  };
}
