/** Archives whose entries would leave the place where they are unpacked. */
import { crc32 } from "node:zlib";

/** A tar with an absolute path, a parent path, a link to /etc and a file through that link. */
export function hostileTar(): Buffer {
  return Buffer.concat([
    ...tarEntry("/tmp/berth-absolute", { content: "absolute" }),
    ...tarEntry("../../../../tmp/berth-parent", { content: "parent" }),
    ...tarEntry("etc", { target: "/etc" }),
    ...tarEntry("etc/berth-link", { content: "through a link" }),
    Buffer.alloc(1024),
  ]);
}

function tarEntry(
  name: string,
  { content = "", target = "" }: { readonly content?: string; readonly target?: string },
): readonly Buffer[] {
  const type = target === "" ? "0" : "2";
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write(["0000644", "0000000", "0000000", ""].join("\0"), 100);
  header.write(`${Buffer.byteLength(content).toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0" + " ".repeat(8) + type, 136);
  header.write(target, 157);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  const body = Buffer.alloc(Math.ceil(Buffer.byteLength(content) / 512) * 512);
  body.write(content, 0);
  return [header, body];
}

/** A zip with one stored entry under a parent path, and one that is a link by its mode. */
export function hostileZip(): Buffer {
  const entries = [
    { name: "../../../../tmp/berth-zip", content: "parent", mode: 0o100_644 },
    { name: "passwd", content: "/etc/passwd", mode: 0o120_777 },
  ];
  const [locals, centrals]: [Buffer[], Buffer[]] = [[], []];
  let offset = 0;
  for (const { name, content, mode } of entries) {
    const [named, data] = [Buffer.from(name), Buffer.from(content)];
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt32LE(crc32(data), 10);
    shared.writeUInt32LE(data.length, 14);
    shared.writeUInt32LE(data.length, 18);
    shared.writeUInt16LE(named.length, 22);
    const end = Buffer.alloc(14);
    end.writeUInt32LE(mode * 2 ** 16, 6);
    end.writeUInt32LE(offset, 10);
    const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), shared, named, data]);
    // The central record says "made on Unix", so that the mode counts.
    centrals.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x03", "latin1"), shared, end, named]));
    locals.push(local);
    offset += local.length;
  }
  const size = centrals.reduce((total, record) => total + record.length, 0);
  const tail = Buffer.alloc(18);
  tail.writeUInt16LE(entries.length, 4);
  tail.writeUInt16LE(entries.length, 6);
  tail.writeUInt32LE(size, 8);
  tail.writeUInt32LE(offset, 12);
  return Buffer.concat([...locals, ...centrals, Buffer.from("PK\x05\x06", "latin1"), tail]);
}
