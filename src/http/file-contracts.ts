/** The routes of files and signed links, as clients see them (api §3). */
import { contract, FILE_BYTES, FORM_TYPE, json, noQuery } from "./contract-parts.js";
import {
  deletedFileSchema,
  fileListSchema,
  fileSchema,
  linkQuery,
  linkSchema,
  listFilesQuery,
  tokenQuery,
  uploadFormSchema,
} from "./schemas/file-bodies.js";

export const uploadFile = contract({
  method: "post",
  path: "/v1/files",
  access: "client",
  summary: "Upload a file for later runs.",
  query: noQuery,
  body: { [FORM_TYPE]: uploadFormSchema },
  answers: { 200: json("The file.", fileSchema) },
  errors: ["box.quota"],
});

export const listFiles = contract({
  method: "get",
  path: "/v1/files",
  access: "client",
  summary: "Uploads and deliveries, newest first.",
  query: listFilesQuery,
  answers: { 200: json("A page of files.", fileListSchema) },
  errors: [],
});

export const getFile = contract({
  method: "get",
  path: "/v1/files/:id",
  access: "client",
  summary: "A file's record.",
  query: noQuery,
  answers: { 200: json("The file.", fileSchema) },
  errors: ["file.not_found"],
});

export const deleteFile = contract({
  method: "delete",
  path: "/v1/files/:id",
  access: "client",
  summary: "Delete a file; its bytes go when nothing else needs them.",
  query: noQuery,
  answers: { 200: json("The file is gone.", deletedFileSchema) },
  errors: ["file.not_found"],
});

export const getFileContent = contract({
  method: "get",
  path: "/v1/files/:id/content",
  access: "client",
  summary: "The bytes of a file, always as a download.",
  query: noQuery,
  answers: FILE_BYTES,
  errors: ["file.not_found", "file.range_invalid"],
});

export const linkFile = contract({
  method: "get",
  path: "/v1/files/:id/link",
  access: "client",
  summary: "An address for one file that needs no key and expires.",
  query: linkQuery,
  answers: { 200: json("The address.", linkSchema) },
  errors: ["file.not_found"],
});

export const openLink = contract({
  method: "get",
  path: "/v1/links/:id",
  access: "public",
  summary: "The bytes behind a signed address.",
  query: tokenQuery,
  answers: FILE_BYTES,
  errors: ["file.not_found", "file.range_invalid"],
});
