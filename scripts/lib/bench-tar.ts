/** The least of a tar stream: regular files with short names, for the engine's archive calls. */

export function packFile(name: string, bytes: Uint8Array): Buffer {
  return packFiles(new Map([[name, bytes]]));
}

export function packFiles(files: ReadonlyMap<string, Uint8Array>): Buffer {
  const parts = [...files].flatMap(([name, bytes]) => [
    makeHeader(name, bytes.length),
    bytes,
    Buffer.alloc((512 - (bytes.length % 512)) % 512),
  ]);
  return Buffer.concat([...parts, Buffer.alloc(1024)]);
}

function makeHeader(name: string, sizeBytes: number): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0, 100, "utf8");
  header.write("0000644\0", 100);
  header.write("0000000\0", 108);
  header.write("0000000\0", 116);
  header.write(`${sizeBytes.toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header.write("        ", 148);
  header.write("0", 156);
  header.write("ustar\u000000", 257, "latin1");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}
