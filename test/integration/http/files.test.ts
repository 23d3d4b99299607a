import OpenAI, { toFile } from "openai";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fileListSchema, fileSchema, linkSchema } from "../../../src/http/schemas/file-bodies.js";
import names from "../../fixtures/file-names.json" with { type: "json" };
import { CLIENT_KEY, type HttpService, OTHER_KEY, startHttpService } from "../../support/http-service.js";
import { readError } from "../../support/read-answer.js";

let service: HttpService;
beforeEach(async () => {
  service = await startHttpService();
});
afterEach(async () => {
  await service[Symbol.asyncDispose]();
});

async function upload(content: string, name = "notes.txt", purpose = "user_data") {
  const body = new FormData();
  body.append("file", new File([content], name));
  body.append("purpose", purpose);
  return service.fetch("/v1/files", { method: "POST", body });
}

async function uploaded(content: string, name?: string) {
  return fileSchema.parse(await (await upload(content, name)).json());
}

describe("files over HTTP", () => {
  it("work with the official OpenAI client: create, retrieve, content, list, delete", async () => {
    const client = new OpenAI({ apiKey: CLIENT_KEY, baseURL: `${service.url}/v1` });
    const made = await client.files.create({
      file: await toFile(Buffer.from("a,b\n1,2\n"), "报告.csv"),
      purpose: "assistants",
    });
    expect(made).toMatchObject({ object: "file", bytes: 8, filename: "报告.csv", purpose: "assistants" });
    expect(await client.files.retrieve(made.id)).toMatchObject({ id: made.id, created_at: made.created_at });
    expect(await (await client.files.content(made.id)).text()).toBe("a,b\n1,2\n");
    const listed = [];
    for await (const file of client.files.list({ purpose: "assistants" })) listed.push(file.id);
    expect(listed).toEqual([made.id]);
    expect(await client.files.delete(made.id)).toEqual({ id: made.id, object: "file", deleted: true });
    await expect(client.files.retrieve(made.id)).rejects.toMatchObject({
      status: 404,
      code: "file.not_found",
    });
  });

  it("come in pages, newest first", async () => {
    const ids = [];
    for (const content of ["1", "2", "3"]) ids.push((await uploaded(content)).id);
    const first = fileListSchema.parse(await (await service.fetch("/v1/files?limit=2")).json());
    expect(first).toMatchObject({ has_more: true, first_id: ids[2], last_id: ids[1] });
    const second = await service.fetch(`/v1/files?limit=2&after=${ids[1]}`);
    expect(await second.json()).toMatchObject({ has_more: false, data: [{ id: ids[0] }] });
  });

  it("are refused above the limit with 413, naming both figures", async () => {
    const response = await upload("x".repeat(1001));
    expect(response.status).toBe(413);
    expect((await readError(response)).message).toMatch(/1000 bytes; at least \d{4,} bytes came/);
  });

  it.each([
    ["no file", () => new FormData(), "file"],
    ["a purpose that is no word", () => withFile({ purpose: "a b" }), "purpose"],
    ["an unknown field", () => withFile({ colour: "red" }), "colour"],
  ])("are refused with %s", async (_case, make, param) => {
    const response = await service.fetch("/v1/files", { method: "POST", body: make() });
    expect(response.status).toBe(400);
    expect(await readError(response)).toMatchObject({ code: "request.invalid", param });
  });

  it("are refused without a body", async () => {
    expect((await service.fetch("/v1/files", { method: "POST" })).status).toBe(415);
    expect((await service.fetch("/v1/runs", { method: "POST" })).status).toBe(400);
  });

  it("are refused as JSON with 415", async () => {
    const response = await service.fetch("/v1/files", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect(response.status).toBe(415);
  });
});

function withFile(fields: Readonly<Record<string, string>>): FormData {
  const form = new FormData();
  form.append("file", new File(["x"], "x"));
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  return form;
}

describe("a download", () => {
  it("is an attachment that no browser renders", async () => {
    const { id, sha256 } = await uploaded("<script>alert(1)</script>", "x.html");
    const response = await service.fetch(`/v1/files/${id}/content`);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename="x.html"; filename*=UTF-8''x.html`,
      "content-length": "25",
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
      "cache-control": "private, no-store",
      "referrer-policy": "no-referrer",
      "accept-ranges": "bytes",
      etag: `"${sha256}"`,
    });
  });

  it.each([
    { range: "bytes=0-3", status: 206, text: "0123", sent: "bytes 0-3/10" },
    { range: "bytes=4-", status: 206, text: "456789", sent: "bytes 4-9/10" },
    { range: "bytes=-2", status: 206, text: "89", sent: "bytes 8-9/10" },
    { range: "bytes=8-99", status: 206, text: "89", sent: "bytes 8-9/10" },
    { range: "bytes=0-0,2-3", status: 200, text: "0123456789", sent: null },
    { range: "bytes=x", status: 200, text: "0123456789", sent: null },
    { range: "lines=1-2", status: 200, text: "0123456789", sent: null },
  ])("answers the range $range with $status", async ({ range, status, text, sent }) => {
    const { id } = await uploaded("0123456789");
    const response = await service.fetch(`/v1/files/${id}/content`, { headers: { range } });
    expect(response.status).toBe(status);
    expect(await response.text()).toBe(text);
    expect(response.headers.get("content-range")).toBe(sent);
  });

  it("refuses a range behind the end with 416 and the size", async () => {
    const { id } = await uploaded("0123456789");
    const response = await service.fetch(`/v1/files/${id}/content`, { headers: { range: "bytes=10-" } });
    expect(response.status).toBe(416);
    expect(response.headers.get("content-range")).toBe("bytes */10");
    expect(response.headers.get("content-type")).toMatch(/^application\/json/);
    expect(await readError(response)).toMatchObject({ code: "file.range_invalid" });
  });

  it("answers 304 to who has the bytes, and a whole file to who has others", async () => {
    const { id, sha256 } = await uploaded("0123456789");
    const path = `/v1/files/${id}/content`;
    expect((await service.fetch(path, { headers: { "if-none-match": `"${sha256}"` } })).status).toBe(304);
    const stale = { range: "bytes=0-1", "if-range": '"other"' };
    expect((await service.fetch(path, { headers: stale })).status).toBe(200);
    const current = { range: "bytes=0-1", "if-range": `"${sha256}"` };
    expect((await service.fetch(path, { headers: current })).status).toBe(206);
  });

  it("answers HEAD with the headers alone, and an empty file with no bytes", async () => {
    const { id } = await uploaded("0123456789");
    const head = await service.fetch(`/v1/files/${id}/content`, { method: "HEAD" });
    expect(head.headers.get("content-length")).toBe("10");
    expect(await head.text()).toBe("");
    const empty = await uploaded("");
    const response = await service.fetch(`/v1/files/${empty.id}/content`);
    expect([response.status, response.headers.get("content-length")]).toEqual([200, "0"]);
  });

  it.each(names)("has one harmless header line for the name %j", async (name) => {
    await using staged = await service.files.stage();
    await staged.write(Buffer.from("x"));
    const caller = { tenant: "main", role: "client" } as const;
    const record = await service.files.add(caller, { staged, name, purpose: "user_data" });
    const response = await service.fetch(`/v1/files/${record.id}/content`);
    expect(response.status).toBe(200);
    const header = response.headers.get("content-disposition") ?? "";
    expect(header).toMatch(/^attachment; filename="[\x20-\x7e]+"; filename\*=UTF-8''[A-Za-z0-9.%_-]+$/);
    expect(header).not.toMatch(/[\\/\r\n<>]|%2f|%5c|%0a|%0d|%00|%e2%80%ae/i);
    const extension = /\.[a-z]+$/.exec(name)?.[0];
    const shown = decodeURIComponent(header.split("UTF-8''")[1] ?? "");
    expect(shown.endsWith(extension ?? "")).toBe(true);
    expect(response.headers.get("set-cookie")).toBeNull();
    expect(response.headers.get("content-type")).not.toMatch(/html|svg|xml|script/);
  });
});

async function link(id: string, query = ""): Promise<string> {
  return linkSchema.parse(await (await service.fetch(`/v1/files/${id}/link${query}`)).json()).url;
}

describe("bytes that are gone", () => {
  it("are told by the envelope, not by a broken connection", async () => {
    const { id, sha256 } = await uploaded("0123456789");
    await service.stores.blobs.remove(sha256);
    const response = await service.fetch(`/v1/files/${id}/content`);
    expect(response.status).toBe(404);
    expect(response.headers.get("content-disposition")).toBeNull();
    expect(await readError(response)).toMatchObject({ code: "file.not_found" });
  });
});

describe("a signed link", () => {
  it("needs no key, and carries the bytes as an attachment", async () => {
    const { id } = await uploaded("hello", "a.txt");
    const url = await link(id);
    expect(url.startsWith(`${service.url}/v1/links/${id}?token=`)).toBe(true);
    const response = await fetch(url);
    expect(await response.text()).toBe("hello");
    expect(response.headers.get("content-disposition")).toMatch(/^attachment/);
  });

  it("is 404 when it is expired, changed, or of another file", async () => {
    const { id } = await uploaded("hello");
    const other = await uploaded("other");
    const url = await link(id, "?ttl_sec=60");
    const wrong = [url.replace(id, other.id), `${url}x`, url.replace(/token=.*/, "")];
    const answers = await Promise.all(wrong.map((address) => fetch(address)));
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
    service.clock.advance(60_000);
    expect(await readError(await fetch(url))).toMatchObject({ code: "file.not_found" });
  });

  it("begins with the configured address", async () => {
    await using behindProxy = await startHttpService({ publicUrl: "https://berth.example/base/" });
    await using staged = await behindProxy.files.stage();
    const caller = { tenant: "main", role: "client" } as const;
    const { id } = await behindProxy.files.add(caller, { staged, name: "a", purpose: "p" });
    const { url } = linkSchema.parse(await (await behindProxy.fetch(`/v1/files/${id}/link`)).json());
    expect(url.startsWith(`https://berth.example/base/v1/links/${id}?token=`)).toBe(true);
  });

  it.each(["0", "-1", "604801", "x"])("is refused for a life of %s seconds", async (ttl) => {
    const { id } = await uploaded("hello");
    expect((await service.fetch(`/v1/files/${id}/link?ttl_sec=${ttl}`)).status).toBe(400);
  });
});

describe("a file of another tenant", () => {
  it.each([
    ["GET", ""],
    ["DELETE", ""],
    ["GET", "/content"],
    ["GET", "/link"],
  ])("answers 404 to %s %s", async (method, suffix) => {
    const { id } = await uploaded("secret");
    const response = await service.fetch(`/v1/files/${id}${suffix}`, { method, key: OTHER_KEY });
    expect(response.status).toBe(404);
    expect(await response.text()).not.toContain("secret");
    expect((await service.fetch(`/v1/files/${id}`)).status).toBe(200);
  });
});
