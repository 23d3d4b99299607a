/** Decides which calls of one batch wait for which, by the effects their tools declare (local-agent §7.5). Pure. */
import { WORKSPACE_ROOT } from "../../domain/box.js";
import type { ToolEffect } from "../../domain/tool.js";
import { isWithin, normaliseWorkspacePath } from "../../domain/workspace-path.js";
import type { JsonObject } from "./parse-arguments.js";

/** A call that will run; its position in the batch is its position in the list. */
export interface OrderedCall {
  readonly effect: ToolEffect;
  readonly parameters: JsonObject;
}

/** @returns for each call the positions of the earlier calls that must have ended before it begins; null = does not run */
export function orderCalls(calls: readonly (OrderedCall | null)[]): readonly (readonly number[])[] {
  return calls.map((later, position) =>
    later === null
      ? []
      : calls
          .slice(0, position)
          .flatMap((earlier, i) => (earlier !== null && mustWait(earlier, later) ? [i] : [])),
  );
}

function mustWait(earlier: OrderedCall, later: OrderedCall): boolean {
  if (earlier.effect.kind === "none" || later.effect.kind === "none") return false;
  if (later.effect.kind === "box.export") return true;
  if (later.effect.kind === "box.exec") return writes(earlier.effect);
  switch (earlier.effect.kind) {
    case "box.exec":
      return true;
    case "box.export":
      return touchesSame(earlier, later);
    default:
      return (writes(earlier.effect) || writes(later.effect)) && touchesSame(earlier, later);
  }
}

function writes(effect: ToolEffect): boolean {
  return effect.kind === "box.files" && effect.access === "write";
}

/** Equal paths, or one that lies where the other call searches. */
function touchesSame(one: OrderedCall, other: OrderedCall): boolean {
  const others = pathsOf(other);
  return pathsOf(one).some((path) =>
    others.some(
      (candidate) =>
        path === candidate ||
        (one.effect.kind === "box.search" && isWithin(path, candidate)) ||
        (other.effect.kind === "box.search" && isWithin(candidate, path)),
    ),
  );
}

function pathsOf({ effect, parameters }: OrderedCall): readonly string[] {
  if (effect.kind === "none" || effect.kind === "box.exec") return [];
  const named = effect.pathFields.flatMap((field) => {
    const value = parameters[field];
    return (Array.isArray(value) ? value : [value]).filter((path) => typeof path === "string");
  });
  // A search without a path goes over the whole workspace.
  const paths = named.length === 0 && effect.kind === "box.search" ? [WORKSPACE_ROOT] : named;
  return paths.flatMap((path) => {
    const normalised = normaliseWorkspacePath(path);
    return normalised.ok ? [normalised.path] : [];
  });
}
