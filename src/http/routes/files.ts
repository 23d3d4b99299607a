/** Files in the shape of OpenAI Files, their bytes, and signed links to them (api §3). */
import { ServiceError } from "../../domain/errors.js";
import { type FileId, fileIdSchema } from "../../domain/ids.js";
import type { FileService } from "../../runs/file-service.js";
import {
  deleteFile,
  getFile,
  getFileContent,
  linkFile,
  listFiles,
  openLink,
  uploadFile,
} from "../file-contracts.js";
import { parseInput } from "../parse-input.js";
import { type FormLimits, readForm } from "../read-multipart.js";
import { requestAddress } from "../request-address.js";
import { type Exchange, implement, pathParameter, type Route } from "../route.js";
import { toFileObject, uploadFieldsSchema } from "../schemas/file-bodies.js";
import { sendFile } from "../send-file.js";

export interface FileRoutesDeps {
  readonly files: FileService;
  readonly formLimits: FormLimits;
  /** Without slash at the end; null = the address of the request. */
  readonly publicUrl: string | null;
}

export function fileRoutes(deps: FileRoutesDeps): readonly Route[] {
  const { files } = deps;
  return [
    uploadRoute(deps),
    listRoute(deps),
    implement(getFile, async (exchange) => {
      exchange.response.json(toFileObject(await files.get(exchange.caller, readFileId(exchange))));
    }),
    implement(deleteFile, async (exchange) => {
      const id = readFileId(exchange);
      await files.remove(exchange.caller, id);
      exchange.response.json({ id, object: "file", deleted: true });
    }),
    implement(getFileContent, async (exchange) => {
      await sendFile(files, await files.get(exchange.caller, readFileId(exchange)), exchange);
    }),
    linkRoute(deps),
    implement(openLink, async (exchange) => {
      await sendFile(files, await files.openLink(readFileId(exchange), exchange.query.token), exchange);
    }),
  ];
}

function uploadRoute({ files, formLimits }: FileRoutesDeps): Route {
  return implement(uploadFile, async (exchange) => {
    await using form = await readForm(exchange, files, { ...formLimits, maxFiles: 1 });
    const { purpose } = parseInput(uploadFieldsSchema, form.fields, "form");
    const [file] = form.files;
    if (file === undefined)
      throw new ServiceError("request.invalid", "The form has no part `file` with a file name.", {
        param: "file",
      });
    const record = await files.add(exchange.caller, { staged: file.staged, name: file.name, purpose });
    exchange.response.json(toFileObject(record));
  });
}

function listRoute({ files }: FileRoutesDeps): Route {
  return implement(listFiles, async ({ caller, query, response }) => {
    const { limit, after, purpose } = query;
    const page = await files.list(caller, { limit, after, purpose });
    response.json({
      object: "list",
      data: page.files.map(toFileObject),
      has_more: page.hasMore,
      first_id: page.files[0]?.id ?? null,
      last_id: page.files.at(-1)?.id ?? null,
    });
  });
}

function linkRoute({ files, publicUrl }: FileRoutesDeps): Route {
  return implement(linkFile, async (exchange) => {
    const { caller, query, request, response } = exchange;
    const { file, token, expiresAt } = await files.createLink(caller, readFileId(exchange), query.ttl_sec);
    response.json({
      url: `${requestAddress(request, publicUrl)}/v1/links/${file.id}?token=${token}`,
      expires_at: new Date(expiresAt * 1000).toISOString(),
    });
  });
}

function readFileId({ request }: Exchange): FileId {
  const text = pathParameter(request, "id");
  const id = fileIdSchema.safeParse(text);
  if (id.success) return id.data;
  throw new ServiceError("file.not_found", `There is no file "${text.slice(0, 100)}".`);
}
