/** Reads multipart/form-data: fields as text, file parts straight into the blob staging, never into memory (api §2, §3). */
import type { Request, Response } from "express";
import multer, { MulterError } from "multer";
import { z } from "zod";
import { ServiceError } from "../domain/errors.js";
import { CleanupStack } from "../lib/cleanup-stack.js";
import type { FileService } from "../runs/file-service.js";
import type { StagedFile } from "../runs/staged-file.js";
import { wrongType } from "./read-json.js";

/** Bytes a form may have besides its files and fields: boundaries and part headers. */
const FRAME_BYTES = 1024 * 1024;

export interface FormLimits {
  readonly maxFileBytes: number;
  readonly maxTotalBytes: number;
  readonly maxFiles: number;
  /** Bytes of one text field. */
  readonly maxFieldBytes: number;
}

export interface FormFile {
  /** As the client named it, decoded; not yet cleaned. */
  readonly name: string;
  readonly mimeType: string | null;
  readonly staged: StagedFile;
}

/** A form that was read; disposing drops every file that was not committed. */
export interface Form extends AsyncDisposable {
  readonly fields: Readonly<Record<string, string>>;
  /** Parts named `file`, in order. */
  readonly files: readonly FormFile[];
}

const fieldsSchema = z.record(z.string(), z.string());

/** @throws ServiceError `request.too_large` naming limit and bytes seen; `request.invalid` for a form that cannot be read */
export async function readForm(
  from: { readonly request: Request; readonly response: Response },
  files: Pick<FileService, "stage">,
  limits: FormLimits,
): Promise<Form> {
  const { request } = from;
  if (request.is("multipart/form-data") !== "multipart/form-data")
    throw wrongType(request, "multipart/form-data");
  refuseAnnouncedSize(request, limits);
  const intake = new FormIntake(files, limits);
  try {
    await parseForm(from, intake, limits);
    // multer passes by a content type that it reads otherwise than express, as one with an empty boundary.
    if (request.body === undefined) throw unreadable("The content type is not valid.");
    const fields = fieldsSchema.safeParse({ ...z.record(z.string(), z.unknown()).parse(request.body) });
    if (!fields.success)
      throw new ServiceError("request.invalid", "A field of the form stands more than once.");
    return {
      fields: fields.data,
      files: intake.files,
      [Symbol.asyncDispose]: () => intake[Symbol.asyncDispose](),
    };
  } catch (error) {
    await intake[Symbol.asyncDispose]();
    throw error;
  }
}

function refuseAnnouncedSize(request: Request, limits: FormLimits): void {
  const announced = Number(request.headers["content-length"] ?? 0);
  const most = limits.maxTotalBytes + limits.maxFieldBytes + FRAME_BYTES;
  if (announced <= most) return;
  throw tooLarge("The files of a request together", limits.maxTotalBytes, `${announced} bytes`);
}

async function parseForm(
  { request, response }: { readonly request: Request; readonly response: Response },
  intake: FormIntake,
  limits: FormLimits,
): Promise<void> {
  const parse = multer({
    storage: intake,
    // Names arrive as UTF-8 from every client in use, and none says so.
    defParamCharset: "utf8",
    limits: {
      files: limits.maxFiles + 1,
      fields: 20,
      fieldSize: limits.maxFieldBytes,
      fieldNameSize: 100,
      fieldNestingDepth: 0,
      headerPairs: 50,
    },
  }).array("file");
  await new Promise<void>((resolve, reject) => {
    // A refusal of ours is answered at once; multer itself would first wait for the rest of the body.
    intake.onRefusal = reject;
    const end = (error?: unknown): void => {
      if (error === undefined) resolve();
      else reject(error instanceof MulterError ? error : unreadable(error));
    };
    Promise.resolve(parse(request, response, end)).catch(end);
  });
}

/** multer's storage engine: one staging per file part, limits counted as the bytes come. */
class FormIntake implements multer.StorageEngine, AsyncDisposable {
  readonly #files: FormFile[] = [];
  readonly #stack = new CleanupStack();
  readonly #service: Pick<FileService, "stage">;
  readonly #limits: FormLimits;
  #parts = 0;
  #totalBytes = 0;
  #isClosed = false;
  /** Told of the first fault at once. */
  onRefusal: (error: unknown) => void = () => {};

  constructor(service: Pick<FileService, "stage">, limits: FormLimits) {
    this.#service = service;
    this.#limits = limits;
  }

  get files(): readonly FormFile[] {
    return this.#files;
  }

  _handleFile(
    _request: Request,
    part: Express.Multer.File,
    done: (error?: unknown, info?: Partial<Express.Multer.File>) => void,
  ): void {
    // The place is taken before the first wait: parts keep their order.
    const index = this.#parts;
    this.#parts += 1;
    void this.#take(part, index, done);
  }

  _removeFile(_request: Request, _part: Express.Multer.File, done: (error: Error | null) => void): void {
    done(null);
  }

  async #take(
    part: Express.Multer.File,
    index: number,
    done: (error?: unknown, info?: object) => void,
  ): Promise<void> {
    let refusal: unknown = null;
    try {
      await this.#receive(part, index);
    } catch (error) {
      refusal = error;
      this.onRefusal(error);
    }
    done(refusal, {});
  }

  async #receive(part: Express.Multer.File, index: number): Promise<void> {
    if (index >= this.#limits.maxFiles) {
      const { maxFiles } = this.#limits;
      throw new ServiceError(
        "request.too_large",
        `A request may have ${maxFiles === 1 ? "1 file" : `${maxFiles} files`}; more came.`,
        {
          param: "file",
          hint: "Send fewer files in one request, or pack them into one archive.",
        },
      );
    }
    const staged = await this.#service.stage();
    this.#stack.use(staged);
    if (this.#isClosed) await this[Symbol.asyncDispose]();
    this.#files[index] = { name: part.originalname, mimeType: part.mimetype || null, staged };
    const stream: AsyncIterable<Buffer> = part.stream;
    for await (const chunk of stream) {
      this.#count(part.originalname, staged.sizeBytes + chunk.byteLength, chunk.byteLength);
      await staged.write(chunk);
    }
  }

  #count(name: string, fileBytes: number, added: number): void {
    this.#totalBytes += added;
    const { maxFileBytes, maxTotalBytes } = this.#limits;
    if (fileBytes > maxFileBytes)
      throw tooLarge(`The file "${shortName(name)}"`, maxFileBytes, `at least ${fileBytes} bytes`);
    if (this.#totalBytes > maxTotalBytes)
      throw tooLarge("The files of a request together", maxTotalBytes, `at least ${this.#totalBytes} bytes`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#stack[Symbol.asyncDispose]();
  }
}

/** What is no refusal of ours and no limit is a form that ends too early or breaks its own rules. */
function unreadable(cause: unknown): ServiceError {
  return new ServiceError("request.invalid", "The form could not be read.", {
    hint: "Send multipart/form-data with a boundary, complete to its end.",
    cause,
  });
}

function tooLarge(what: string, limit: number, seen: string): ServiceError {
  return new ServiceError("request.too_large", `${what} may have ${limit} bytes; ${seen} came.`, {
    param: "file",
    hint: "Send smaller files, or fewer in one request.",
    details: { limitBytes: limit },
  });
}

function shortName(name: string): string {
  return name.replace(/[\p{C}"\\/]/gu, "").slice(0, 80);
}
