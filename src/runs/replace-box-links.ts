/** Links of a final text that point into the box become links of delivered files, or say that nothing was delivered (runs §21.5). */
import type { FileRecord } from "../domain/delivery.js";
import { fileContentPath } from "./run-object.js";

const MARKDOWN_LINK = /(!?)\[([^\]\n]*)\]\(\s*<?((?:sandbox:\/|\/workspace\/)[^)\s>]*)>?[^)\n]*\)/g;
const BARE_SANDBOX_LINK = /sandbox:\/[^\s)\]>"'`]+/g;

/** @param files the run's delivered files; matched by the path they were exported from, else by name */
export function replaceBoxLinks(text: string, files: readonly FileRecord[]): string {
  return text
    .replace(MARKDOWN_LINK, (_link, image: string, label: string, target: string) => {
      const file = findFile(target, files);
      if (file !== null) return `${image}[${label}](${fileContentPath(file.id)})`;
      return notDelivered(label === "" ? lastName(target) : label);
    })
    .replace(BARE_SANDBOX_LINK, (target) => {
      const file = findFile(target, files);
      return file === null ? notDelivered(lastName(target)) : fileContentPath(file.id);
    });
}

function findFile(target: string, files: readonly FileRecord[]): FileRecord | null {
  const path = toPath(target);
  const exact = files.find((file) => file.sourcePath === path);
  return exact ?? files.find((file) => file.name === lastName(target)) ?? null;
}

function toPath(target: string): string {
  const path = target.replace(/^sandbox:\/+/, "/");
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

function lastName(target: string): string {
  const path = toPath(target);
  return path.slice(path.lastIndexOf("/") + 1);
}

function notDelivered(name: string): string {
  return `${name} (not delivered)`;
}
