/** Attachments on their way into a box, through the whole service (box §7, local-agent §4). */
import { createHash, randomBytes } from "node:crypto";
import { describe, expect, inject, it } from "vitest";
import { runSchema } from "../../src/domain/run.js";
import type { ChatRequest } from "../../src/ports/chat-model.js";
import { after, calls, text } from "../fakes/scripted-model.js";
import { json, refuse, reply, startScriptedModelServer } from "../fakes/scripted-model-server.js";
import {
  exports,
  inboxOf,
  lastExec,
  late,
  outboxOf,
  runs,
  saysStdout,
  wholeText,
} from "../support/agent-script.js";
import { onePipeline } from "../support/composed-service.js";
import { hostileTar, hostileZip } from "../support/hostile-archives.js";
import { noisePng } from "../support/png.js";
import { proves } from "../support/proves.js";
import { answerWith, lieAboutLength, startRawFileServer } from "../support/raw-file-server.js";
import { readStream } from "../support/read-events.js";
import { attached, chatMessage, SharedService, serviceForAll } from "../support/shared-service.js";
import { textLike } from "../support/text-like.js";

const MIB = 1024 * 1024;
const hasEngine = inject("dockerAvailable");

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function count(haystack: string, needle: string): number {
  return haystack.split(needle).length - 1;
}

/** Parts of the current user message. */
function userParts(request: ChatRequest): readonly { readonly type: string }[] {
  const content = request.messages.findLast(({ role }) => role === "user")?.content;
  return Array.isArray(content) ? content : [];
}

/** A command that sums the images of this message, and counts all of the inbox. */
function sumsOfImages(request: ChatRequest): string {
  const paths = [...wholeText(request).matchAll(/"path":"([^"]+)"/g)].map((match) => match[1]);
  return `sha256sum ${paths.join(" ")}; cd /workspace/inbox; sha256sum */*/image.png | sort | wc -l`;
}

/** A promise and what resolves it. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  const controller = new AbortController();
  const opened = new Promise<void>((resolve) => {
    controller.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  return { opened, open: () => controller.abort() };
}

describe.skipIf(!hasEngine)("attachments of a message", () => {
  const service = serviceForAll({
    model: { abilities: ["func_call", "vision"] },
    settings: { outbound: { allowed_private_hosts: ["127.0.0.1"] } },
  });

  it("lie in the run's inbox: the image is shown too, of the file only the path is told", async () => {
    proves("IN-01");
    const [image, file] = [noisePng(20, 20), "some words\n"];
    using model = service().script(runs('cd "$BERTH_INBOX"; sha256sum 0/a.png; cat 1/b.txt'), saysStdout());
    const run = await service().send(
      chatMessage("one", "Look", [attached("a.png", image, "image_base64"), attached("b.txt", file)]),
    );
    expect(run.message?.content).toBe(`${sha256(image)}  0/a.png\n${file}`);
    const request = model.request(0);
    const inbox = inboxOf(request);
    expect(inbox).toBe(`/workspace/inbox/${run.id}`);
    expect(run.attachments.map(({ path }) => path)).toEqual([`${inbox}/0/a.png`, `${inbox}/1/b.txt`]);
    for (const { path } of run.attachments) expect(wholeText(request)).toContain(path);
    expect(userParts(request).map(({ type }) => type)).toEqual(["text", "image_url", "text", "text"]);
    expect(userParts(request)[1]).toEqual({
      type: "image_url",
      image_url: { url: `data:image/png;base64,${image.toString("base64")}` },
    });
    expect(JSON.stringify(request)).not.toContain("some words");
  });

  it("cost nothing when there are none: the text stays as it was, and nothing is run for them", async () => {
    proves("IN-02");
    using model = service().script(text("hi"), runs("ls -A /workspace/inbox/*"), saysStdout());
    const plain = await service().send(chatMessage("two", "Hello, {world}!"));
    expect(plain.attachments).toEqual([]);
    const content = model.request(0).messages.at(-1)?.content;
    expect(content).toMatch(/^Hello, \{world\}!\n\nYou have a box of your own/);
    expect(content).not.toContain("input_attachments");
    const events = await readStream(await service().fetch(`/v1/runs/${plain.id}/events`));
    expect(events.map(({ type }) => type)).toEqual(["run.started", "message.completed", "run.completed"]);
    const next = await service().send(chatMessage("two", "What came with it?"));
    expect(next.message?.content).toMatch(/^(\/workspace\/inbox\/run_\w+:\n\n?){2}$/);
  });

  it("fail one by one: the others arrive, and model and caller are told which and why, once", async () => {
    proves("IN-03");
    await using server = await startRawFileServer({});
    using model = service().script(runs('cat "$BERTH_INBOX"/1/fine.txt'), saysStdout());
    const gone = { type: "file_url", name: "gone.pdf", url: server.urlOf("/gone.pdf") };
    const run = await service().send(chatMessage("three", "Read", [gone, attached("fine.txt", "fine")]));
    expect(run).toMatchObject({ status: "completed", message: { content: "fine" } });
    expect(run.attachments).toMatchObject([
      { index: 0, name: "gone.pdf", state: "refused", path: null, reason: "The server answered 404." },
      { index: 1, name: "fine.txt", state: "imported" },
    ]);
    expect(count(wholeText(model.request()), "The server answered 404.")).toBe(1);
    expect(count(wholeText(model.request()), '"gone.pdf"')).toBe(1);
    const events = await readStream(await service().fetch(`/v1/runs/${run.id}/events`));
    const told = events.filter(({ type, data }) => type === "attachment.imported" && data["index"] === 0);
    expect(told.map(({ data }) => data["reason"])).toEqual(["The server answered 404."]);
  });

  it("never take their path from outside", async () => {
    proves("IN-06");
    using model = service().script(runs('cat "$BERTH_INBOX"/0/*'), saysStdout());
    const item = { ...attached("passwd", "of the sender"), path: "/etc/passwd" };
    const bare = { type: "file_url", name: "shadow", url: "file:///etc/shadow", path: "/etc/shadow" };
    const run = await service().send(chatMessage("four", "Read", [item, bare]));
    expect(run.message?.content).toBe("of the sender");
    expect(run.attachments).toMatchObject([
      { index: 0, path: `/workspace/inbox/${run.id}/0/passwd`, bytes: 13 },
      { index: 1, path: null, state: "refused" },
    ]);
    expect(wholeText(model.request())).not.toContain("/etc/passwd");
    expect(wholeText(model.request())).not.toMatch(/root:/);
  });

  it("keep the order of the request, whatever their kind, with the parts of a form at the end", async () => {
    proves("IN-08");
    using _model = service().script(runs('cd "$BERTH_INBOX"; ls -d */*'), saysStdout());
    const form = new FormData();
    const contents = [attached("a.png", noisePng(4, 4), "image_base64"), attached("b.txt", "b")];
    form.set("request", JSON.stringify(chatMessage("five", "List", contents)));
    form.append("file", new Blob(["c"]), "c.ogg");
    form.append("file", new Blob(["d"]), "d.txt");
    const response = await service().fetch("/v1/runs", { method: "POST", body: form });
    const run = runSchema.parse(await response.json());
    expect(run.message?.content).toBe("0/a.png\n1/b.txt\n2/c.ogg\n3/d.txt\n");
    expect(run.attachments.map(({ name }) => name)).toEqual(["a.png", "b.txt", "c.ogg", "d.txt"]);
  });

  it("meet an empty inbox, whatever an earlier run left under its name", async () => {
    proves("IN-09");
    const posted = gate();
    let second = "";
    const litter = (): string => `
      mkdir -p /workspace/kept && echo kept > /workspace/kept/a
      inbox=/workspace/inbox/${second}; mkdir -p $inbox/0 $inbox/locked/deep
      echo old > $inbox/0/data.txt; echo old > $inbox/stale.txt; ln -s /workspace/kept $inbox/link
      chmod 000 $inbox/locked; mkfifo $inbox/fifo
      ln -s /workspace/kept /workspace/outbox/${second}`;
    using _model = service().script(
      after(
        posted.opened,
        late(() => runs(litter())),
      ),
      text("littered"),
      runs(
        'cd "$BERTH_INBOX"; find . -mindepth 1 | sort; cat 0/data.txt; echo x > "$BERTH_OUTBOX/y"; ls -l "$BERTH_OUTBOX" /workspace/kept | grep -c y; cat /workspace/kept/a',
      ),
      saysStdout(),
    );
    const first = await service().post({ ...chatMessage("six", "Litter"), wait: false });
    expect(first.status).toBe(202);
    const content = [attached("data.txt", "new\n")];
    const waiting = await service().post({ ...chatMessage("six", "Read", content), wait: false });
    second = runSchema.parse(await waiting.json()).id;
    posted.open();
    const events = await readStream(await service().fetch(`/v1/runs/${second}/events`));
    expect(events.at(-1)).toMatchObject({
      type: "run.completed",
      data: { message: { content: "./0\n./0/data.txt\nnew\n1\nkept\n" } },
    });
  });

  it("of one name are different files, in one message and over several", async () => {
    proves("IN-11");
    const images = [noisePng(3, 3), noisePng(4, 4), noisePng(5, 5)];
    const [one, two, three] = images.map((bytes) => attached("image.png", bytes, "image_base64"));
    const step = late((request) => runs(sumsOfImages(request)));
    using model = service().script(step, saysStdout(), step, saysStdout());
    const first = await service().send(chatMessage("seven", "Look", [one]));
    expect(first.message?.content).toBe(
      `${sha256(images[0] ?? Buffer.of())}  ${first.attachments[0]?.path}\n1\n`,
    );
    const second = await service().send(chatMessage("seven", "And these", [two, three]));
    const lines = images.slice(1).map((bytes, i) => `${sha256(bytes)}  ${second.attachments[i]?.path}\n`);
    expect(second.message?.content).toBe(`${lines.join("")}3\n`);
    const shown = userParts(model.request(2)).filter(({ type }) => type === "image_url");
    expect(JSON.stringify(shown)).toContain(images[1]?.toString("base64"));
    expect(JSON.stringify(model.request(2))).not.toContain(images[0]?.toString("base64"));
  });

  it("are all there in every round of the run, and in the next message", async () => {
    proves("IN-12");
    const files = [1, 2, 3, 4, 5].map((i) => attached(`f${i}.txt`, `${i}`));
    let inbox = "";
    const look = (round: number) =>
      late((request) => {
        inbox ||= inboxOf(request);
        return runs(`: ${round}; cat ${inbox}/*/*; echo; ls ${inbox}/*`);
      });
    using model = service().script(...[1, 2, 3, 4, 5].map(look), text("seen"), look(6), saysStdout());
    await service().send(chatMessage("eight", "Look five times", files));
    const seen = [1, 2, 3, 4, 5].map((i) => lastExec(model.request(i)).stdout);
    const next = await service().send(chatMessage("eight", "Still there?"));
    expect(new Set([...seen, next.message?.content]).size).toBe(1);
    expect(next.message?.content).toMatch(/^12345\n/);
    for (const i of [1, 2, 3, 4, 5]) expect(next.message?.content).toContain(`f${i}.txt`);
  });

  it("are refused above the limit, whatever a server says of their length, with name, size and limit", async () => {
    proves("IN-13");
    await using server = await startRawFileServer({
      "/short": lieAboutLength(100, 12 * MIB),
      "/endless": lieAboutLength(null, Number.POSITIVE_INFINITY),
      "/huge": lieAboutLength(1_000_000_000_000, 10),
      "/torn": lieAboutLength(5000, 10),
    });
    const names = ["short", "endless", "huge", "torn"];
    const urls = names.map((name) => ({
      type: "file_url",
      name: `${name}.bin`,
      url: server.urlOf(`/${name}`),
    }));
    const big = attached("big.bin", Buffer.alloc(11 * MIB));
    using model = service().script(runs('cd "$BERTH_INBOX"; wc -c */*'), saysStdout());
    const run = await service().send(chatMessage("nine", "Look", [big, ...urls, attached("ok.txt", "ok")]));
    expect(run.status).toBe("completed");
    expect(run.message?.content).not.toMatch(/big|endless|huge|torn/);
    expect(run.message?.content).toMatch(/2 5\/ok\.txt/);
    const limit = `limit is ${10 * MIB} bytes`;
    expect(run.attachments).toMatchObject([
      { name: "big.bin", state: "refused", reason: textLike(new RegExp(`${11 * MIB} bytes.*${limit}`)) },
      // Only as much as was announced is part of the answer.
      { name: "short.bin", state: "imported", bytes: 100 },
      {
        name: "endless.bin",
        state: "refused",
        reason: textLike(new RegExp(`more than ${10 * MIB} .*${limit}`)),
      },
      { name: "huge.bin", state: "refused", reason: textLike(new RegExp(`1000000000000 bytes.*${limit}`)) },
      { name: "torn.bin", state: "refused", reason: textLike(/cut|failed/) },
      { name: "ok.txt", state: "imported", bytes: 2 },
    ]);
    const told = wholeText(model.request(0));
    for (const { name, reason } of run.attachments) {
      expect(told).toContain(name);
      expect(told).toContain(reason ?? "");
    }
    await expect.poll(() => server.sentBytes.size).toBe(4);
    expect(server.sentBytes.get("/endless")).toBeLessThan(40 * MIB);
  });

  it("that are documents are told by path, type and size alone", async () => {
    proves("IN-15");
    const pdf = Buffer.concat([Buffer.from("%PDF-1.7\n"), randomBytes(5 * MIB)]);
    using model = service().script(text("A document."));
    const run = await service().send(chatMessage("ten", "Read", [attached("paper.pdf", pdf)]));
    const request = JSON.stringify({ messages: model.request(0).messages });
    expect(request).toContain(`/workspace/inbox/${run.id}/0/paper.pdf`);
    expect(request).toContain("application/pdf");
    expect(request).toContain(String(pdf.length));
    expect(request.length).toBeLessThan(5000);
  });

  it("that are archives are stored as they are, and nothing is unpacked", async () => {
    proves("IN-16");
    const archives = [hostileTar(), hostileZip()];
    using _model = service().script(
      runs(
        'cd "$BERTH_INBOX"; sha256sum */*; find /workspace /tmp -name "*berth-*"; ls /workspace; tar tf 0/a.tar 2>/dev/null | wc -l; unzip -l 1/b.zip | tail -1',
      ),
      saysStdout(),
    );
    const [tar, zip] = [attached("a.tar", hostileTar()), attached("b.zip", hostileZip())];
    const run = await service().send(chatMessage("eleven", "Keep", [tar, zip]));
    const sums = archives.map((bytes, i) => `${sha256(bytes)}  ${["0/a.tar", "1/b.zip"][i]}\n`);
    expect(run.message?.content).toMatch(new RegExp(`^${sums.join("")}inbox\noutbox\n4\n.* 2 files\n$`));
  });

  it("belong to the box user, who may append to them", async () => {
    proves("IN-17");
    using _model = service().script(
      runs(
        'cd "$BERTH_INBOX/0"; echo more >> log.txt && cat log.txt; mv log.txt other.txt; [ "$(stat -c %u other.txt)" = "$(id -u)" ] && echo mine',
      ),
      saysStdout(),
    );
    const run = await service().send(chatMessage("twelve", "Append", [attached("log.txt", "begun\n")]));
    expect(run.message?.content).toBe("begun\nmore\nmine\n");
  });

  it("and written files keep every byte, NUL included", async () => {
    proves("IN-18");
    const image = noisePng(50, 50);
    const written = "a\0b\r\n\0\uFEFF\u0001é\0";
    using _model = service().script(
      late((request) =>
        calls([
          { name: "write", arguments: { path: `${outboxOf(request)}/nul.bin`, content: written } },
          { name: "exec", arguments: { command: 'cp "$BERTH_INBOX/0/a.png" "$BERTH_OUTBOX/"' } },
        ]),
      ),
      exports("nul.bin", "a.png"),
      text("done"),
    );
    const run = await service().send(
      chatMessage("thirteen", "Copy", [attached("a.png", image, "image_base64")]),
    );
    expect((await service().download(run, 0)).equals(Buffer.from(written))).toBe(true);
    expect((await service().download(run, 1)).equals(image)).toBe(true);
  });

  it("keep their names by form, data URI and URL, in the box and in the note", async () => {
    proves("IN-10");
    const names = ["何不同舟渡_2.txt", "é.csv", "🎉.png"];
    await using server = await startRawFileServer(
      Object.fromEntries(names.map((name) => [`/${name}`, answerWith(name)])),
    );
    const uris = names.map((name) => ({
      type: "file_url",
      name,
      // Other bytes than the part of the form: the same file from two sources would be one (runs §11.2).
      url: `data:application/octet-stream;base64,${Buffer.from(`uri ${name}`).toString("base64")}`,
    }));
    const urls = names.map((name) => ({ type: "file_url", url: encodeURI(server.urlOf(`/${name}`)) }));
    const form = new FormData();
    form.set("request", JSON.stringify(chatMessage("fourteen", "List", [...uris, ...urls])));
    for (const name of names) form.append("file", new Blob([name]), name);
    using model = service().script(
      runs('cd "$BERTH_INBOX"; for f in */*; do echo "$f $(cat "$f")"; done'),
      saysStdout(),
    );
    const response = await service().fetch("/v1/runs", { method: "POST", body: form });
    const run = runSchema.parse(await response.json());
    const all = [...names, ...names, ...names];
    const contents = [...names.map((name) => `uri ${name}`), ...names, ...names];
    expect(run.message?.content).toBe(all.map((name, i) => `${i}/${name} ${contents[i]}\n`).join(""));
    for (const [i, name] of all.entries()) {
      expect(run.attachments[i]).toMatchObject({ name, path: `/workspace/inbox/${run.id}/${i}/${name}` });
      expect(wholeText(model.request(0))).toContain(`${run.id}/${i}/${name}`);
    }
  });
});

describe.skipIf(!hasEngine)("an image that is too much for the model's server", () => {
  it.each([
    ["runner.llm_error", json(413, "<html><h1>413 Request Entity Too Large</h1></html>")],
    ["runner.context_overflow", refuse(413, { message: "Request too large." })],
    ["runner.context_overflow", json(413, "")],
  ])("goes once more as a note, ends the run with %s, and the chat goes on", async (code, tooLarge) => {
    proves("IN-14");
    const uri = `data:image/png;base64,${noisePng(900, 900).toString("base64")}`;
    await using server = await startScriptedModelServer([tooLarge, tooLarge, reply({ content: "fine" })], {
      isStrict: true,
    });
    const abilities = ["func_call", "vision"];
    const model = { id: "wire", base_url: server.baseUrl, model: "scripted", abilities };
    await using service = await SharedService.start({
      settings: { models: [model], pipelines: [onePipeline("wire")] },
    });
    const image = { type: "image_url", name: "big.png", url: uri };
    const run = await service.send(chatMessage("one", "Look", [image]));
    expect(run).toMatchObject({ status: "failed", error: { code, message: textLike(/too large|413/i) } });
    const [first, second] = [JSON.stringify(server.body(0)), JSON.stringify(server.body(1))];
    expect(first).toContain(uri);
    expect(second).not.toContain(";base64,");
    expect(second).toContain("[image not shown:");
    const next = await service.send(chatMessage("one", "Are you there?"));
    expect(next).toMatchObject({ status: "completed", message: { content: "fine" } });
    expect(server.faults).toEqual([]);
    expect(service.takeTroubles()).toEqual([]);
  });
});
