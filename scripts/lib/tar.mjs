/** Writes a folder as a tar archive that depends on nothing but names, contents and the executable bit. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const BLOCK = 512;

/**
 * @param {string} folder
 * @param {readonly string[]} names files and folders in it
 */
export function packFolder(folder, names) {
  const blocks = names.toSorted().flatMap((name) => packEntry(folder, name));
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

/**
 * @param {string} folder
 * @param {string} name
 * @returns {Buffer[]}
 */
function packEntry(folder, name) {
  const path = join(folder, name);
  const stat = statSync(path);
  if (stat.isDirectory()) {
    const inner = readdirSync(path).toSorted();
    return [header(`${name}/`, 0o755, 0), ...inner.flatMap((child) => packEntry(folder, `${name}/${child}`))];
  }
  const content = readFileSync(path);
  const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
  return [header(name, stat.mode & 0o100 ? 0o755 : 0o644, content.length), content, padding];
}

/**
 * @param {string} name
 * @param {number} mode
 * @param {number} sizeBytes
 */
function header(name, mode, sizeBytes) {
  if (Buffer.byteLength(name) > 99) throw new Error(`${name} is too long for this tar writer`);
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0);
  block.write(octal(mode, 8) + octal(0, 8) + octal(0, 8) + octal(sizeBytes, 12) + octal(0, 12), 100);
  block.write(`        ${name.endsWith("/") ? "5" : "0"}`, 148);
  block.write("ustar\x0000", 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

/**
 * @param {number} value
 * @param {number} width with the closing zero byte
 */
function octal(value, width) {
  return `${value.toString(8).padStart(width - 1, "0")}\0`;
}
