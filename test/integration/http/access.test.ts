/** Every route of sessions and boxes with every kind of key: who comes in, who is refused, and who learns what (box §3.4, §3.5, §16.1). */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CONTRACTS } from "../../../src/http/contracts.js";
import type { RouteContract } from "../../../src/http/route.js";
import {
  ADMIN_KEY,
  CLIENT_KEY,
  type HttpService,
  OTHER_ADMIN_KEY,
  OTHER_KEY,
  startHttpService,
} from "../../support/http-service.js";

const ROUTES = CONTRACTS.filter(({ path }) => /^\/v1\/(sessions|boxes)\b/.test(path));
/** Stands in names that another tenant must not learn. */
const CANARY = "canary-chat";

const CALLERS = [
  { who: "no key", key: null },
  { who: "a wrong key", key: `${ADMIN_KEY}x` },
  { who: "a client key", key: CLIENT_KEY },
  { who: "an admin key", key: ADMIN_KEY },
  { who: "another tenant's client key", key: OTHER_KEY },
  { who: "another tenant's admin key", key: OTHER_ADMIN_KEY },
] as const;
type Who = (typeof CALLERS)[number]["who"];

/** What a caller gets: a refusal by its code, or in. */
type Verdict = "auth.invalid" | "auth.forbidden" | "session.not_found" | "in";

function expected(who: Who, { access, path }: RouteContract): Verdict {
  if (who === "no key" || who === "a wrong key") return "auth.invalid";
  if (access === "admin" && who.endsWith("client key")) return "auth.forbidden";
  return who.startsWith("another") && path.includes(":id") ? "session.not_found" : "in";
}

let service: HttpService;
let session = "";
beforeEach(async () => {
  service = await startHttpService();
  const key = { key: CANARY, identity: `0123456789abcdef0123-${CANARY}` };
  session = (await service.boxes.findOrCreateSession("main", key, { signal: new AbortController().signal }))
    .id;
  const path = `/v1/sessions/${session}/files/content?path=a.txt`;
  await service.fetch(path, { method: "PUT", body: CANARY });
});
afterEach(async () => {
  await service[Symbol.asyncDispose]();
});

async function ask({ method, path, body }: RouteContract, key: string | null): Promise<Response> {
  const query = path.endsWith("/files/content") ? "?path=a.txt" : "";
  const place = path.replace(":id", session).replaceAll(/:\w+/g, "unknown");
  const given = path.endsWith("/exec") ? JSON.stringify({ command: "true" }) : "{}";
  return service.fetch(`${place}${query}`, {
    key,
    method: method.toUpperCase(),
    ...(body === undefined ? {} : { body: given, headers: { "content-type": "application/json" } }),
  });
}

/** What the engine and the records hold, as far as a refused request could have changed it. */
async function stateOf(): Promise<unknown> {
  const sessions = await service.stores.sessions.listAll();
  return [sessions, { ...service.backend.counts }];
}

describe.each(CALLERS)("with $who", ({ who, key }) => {
  it.each(ROUTES)(
    "$method $path answers as it must, and a refusal changes and tells nothing",
    async (route) => {
      expect(service.backend.counts.containersCreated).toBe(1);
      const before = await stateOf();
      const response = await ask(route, key);
      const text = await response.text();
      const verdict = expected(who, route);
      const status = { "auth.invalid": 401, "auth.forbidden": 403, "session.not_found": 404, in: 0 }[verdict];
      const code = /"code": ?"(auth\.invalid|auth\.forbidden|session\.not_found)"/.exec(text)?.[1] ?? "in";
      expect(code).toBe(verdict);
      expect(response.status === status).toBe(verdict !== "in");
      expect(verdict === "in" ? before : await stateOf()).toEqual(before);
      expect(who.startsWith("another") || verdict !== "in" ? text : "").not.toContain(CANARY);
    },
  );
});
