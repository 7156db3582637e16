// The media type of a file, from its first bytes where they are known, else from its name.

const SIGNATURES: readonly (readonly [hex: string, mime: string, offset?: number])[] = [
  ["89504e470d0a1a0a", "image/png"],
  ["ffd8ff", "image/jpeg"],
  ["474946383761", "image/gif"],
  ["474946383961", "image/gif"],
  ["57454250", "image/webp", 8],
  ["255044462d", "application/pdf"],
  ["1f8b", "application/gzip"],
  ["28b52ffd", "application/zstd"],
  ["fd377a585a00", "application/x-xz"],
  ["425a68", "application/x-bzip2"],
  ["377abcaf271c", "application/x-7z-compressed"],
  ["7f454c46", "application/x-elf"],
  ["4d5a", "application/vnd.microsoft.portable-executable"],
  ["0061736d", "application/wasm"],
  ["53514c69746520666f726d6174203300", "application/vnd.sqlite3"],
  ["4f676753", "audio/ogg"],
  ["494433", "audio/mpeg"],
  ["57415645", "audio/wav", 8],
  ["66747970", "video/mp4", 4],
  ["1a45dfa3", "video/webm"],
  ["d0cf11e0a1b11ae1", "application/x-ole-storage"],
];

/** Formats that are zip archives inside are distinguished by their name. */
const BY_NAME: Readonly<Record<string, string>> = {
  txt: "text/plain",
  log: "text/plain",
  md: "text/markdown",
  html: "text/html",
  htm: "text/html",
  css: "text/css",
  csv: "text/csv",
  tsv: "text/tab-separated-values",
  xml: "application/xml",
  svg: "image/svg+xml",
  json: "application/json",
  jsonl: "application/jsonl",
  yaml: "application/yaml",
  yml: "application/yaml",
  toml: "application/toml",
  js: "text/javascript",
  mjs: "text/javascript",
  cjs: "text/javascript",
  ts: "text/typescript",
  tsx: "text/typescript",
  jsx: "text/javascript",
  py: "text/x-python",
  sh: "application/x-sh",
  sql: "application/sql",
  go: "text/x-go",
  rs: "text/x-rust",
  java: "text/x-java",
  c: "text/x-c",
  h: "text/x-c",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  odt: "application/vnd.oasis.opendocument.text",
  epub: "application/epub+zip",
  jar: "application/java-archive",
  zip: "application/zip",
  ico: "image/vnd.microsoft.icon",
  mp3: "audio/mpeg",
};

/** Known by the name alone. */
export const mimeOfName = (path: string): string | undefined =>
  BY_NAME[/\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ""];

export function mimeOf(path: string, bytes: Uint8Array, binary: boolean): string {
  const start = Array.from(bytes.subarray(0, 32), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
  const named = mimeOfName(path);
  if (!binary) return named ?? "text/plain";
  if (start.startsWith("504b0304")) return named ?? "application/zip";
  const signed = SIGNATURES.find(([hex, , offset = 0]) => start.startsWith(hex, offset * 2));
  return signed?.[1] ?? named ?? "application/octet-stream";
}
