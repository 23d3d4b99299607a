/** Boxes on the configured engine, and what serves them. */
import { join } from "node:path";
import { BoxdHelper } from "../adapters/boxd/boxd-helper.js";
import { HttpGrantSource } from "../adapters/control-plane/http-grant-source.js";
import { DockerBoxBackend } from "../adapters/docker/docker-box-backend.js";
import { parseEngineAddress } from "../adapters/docker/engine-connection.js";
import { HostReserve } from "../adapters/docker/host-reserve.js";
import { HttpEgressBroker } from "../adapters/egress/http-egress-broker.js";
import { LoopVolumes } from "../adapters/loop-volumes/loop-volumes.js";
import { BoxService } from "../box/box-service.js";
import { TenantGrants } from "../box/tenant-grants.js";
import type { Config } from "../config/config-schema.js";
import type { BoxBackend } from "../ports/box-backend.js";
import {
  toBoxSettings,
  toEgressSettings,
  toIdleTtlSec,
  toMountRules,
  toTenants,
} from "./feature-settings.js";
import type { Base } from "./open-base.js";

/** Holds the in-box helper; made by `npm run image`. */
const HELPER_IMAGE = "berth-boxd:latest";

/** The configured engine, with the quota, the helper and the broker of its boxes. */
export function buildBackend(config: Config, base: Base): DockerBoxBackend {
  const { boxes, storage } = config;
  const [engine] = boxes.engines;
  const connection = parseEngineAddress(engine?.host ?? "");
  const directory = join(storage.directory, "workspaces");
  const reserve = new HostReserve({
    places: [storage.directory],
    reserveMib: boxes.disk_reserve_mb,
    elapsed: () => base.clock.elapsed(),
  });
  return new DockerBoxBackend({
    ...base,
    connection,
    quota: {
      mode: boxes.quota,
      entries: boxes.workspace_entries,
      image: boxes.image,
      volumes: connection.socketPath === undefined ? null : new LoopVolumes({ directory }),
      reserve: connection.socketPath === undefined ? null : reserve,
    },
    engine: engine?.name ?? "local",
    helper: new BoxdHelper({ ...base, image: HELPER_IMAGE, broker: buildBroker(config, base) }),
    mounts: toMountRules(config, connection.socketPath),
    socketDirectory: join(storage.directory, "run"),
  });
}

/** Null where no box has a network. */
function buildBroker(config: Config, base: Base): HttpEgressBroker | null {
  const settings = toEgressSettings(config);
  return settings === null ? null : new HttpEgressBroker({ ...base, ...settings });
}

/** @returns undefined where no control plane is configured */
export function buildGrants(config: Config, base: Base): TenantGrants | undefined {
  const { grants } = config;
  if (grants === null) return undefined;
  const source = new HttpGrantSource(grants);
  const settings = { ids: new Map(Object.entries(grants.ids)), tenants: toTenants(config) };
  return new TenantGrants({ ...base, ...base.stores, source }, settings);
}

/** @throws ServiceError `box.validation` for limits that no box can have */
export function buildBoxes(
  config: Config,
  base: Base,
  on: { readonly backend: BoxBackend; readonly grants: TenantGrants | undefined },
): BoxService {
  return new BoxService(
    { ...base, ...on, sessions: base.stores.sessions },
    {
      enabled: config.boxes.enabled,
      settings: toBoxSettings(config),
      profile: config.boxes.profile,
      maxBoxes: config.boxes.max_boxes,
      pauseAfterSec: config.boxes.pause_after_sec,
      idleTtlSec: toIdleTtlSec(config),
      removeAfterSec: config.boxes.remove_after_sec,
      warmPool: config.boxes.warm_pool,
      requiredReuseKey: config.boxes.required_reuse_key,
      allowedImages: config.boxes.allowed_images,
      workspaceTtlDays: config.boxes.workspace_ttl_days,
    },
  );
}
