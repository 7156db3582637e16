// The built web application: beside the bundle in the package, in console/dist in a clone.
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { AppError } from "../../contract/errors.ts";

const compress = promisify(gzip);

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
};

export interface ConsoleFiles {
  /** The document that every page of the console starts from. */
  page(): Promise<string>;
  /** A file of the build, by the path of the request below /console/. */
  respond(request: Request): Promise<Response>;
}

interface BuiltFile {
  readonly type: string;
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly gzipped: Uint8Array<ArrayBuffer>;
}

export function openConsoleFiles(): ConsoleFiles {
  const folder = folderOf();
  let names: Promise<ReadonlySet<string>> | null = null;
  const files = new Map<string, BuiltFile>();
  return {
    async page() {
      if (folder === null) throw notBuilt();
      return readFile(join(folder, "index.html"), "utf8");
    },
    async respond(request) {
      if (folder === null) throw notBuilt();
      // Only files that are listed in the folder are served, so that no path leads out of it.
      names ??= listed(folder);
      const name = new URL(request.url).pathname.slice("/console/".length);
      if (!(await names).has(name))
        throw new AppError("NOT_FOUND", "unknown", `The console has no file '${name}'`, {
          remedy: "reload the page: the server has a newer console",
        });
      const file = files.get(name) ?? (await read(join(folder, name)));
      files.set(name, file);
      return responseOf(file, request.headers.get("accept-encoding") ?? "", name);
    },
  };
}

function folderOf(): string | null {
  const here = dirname(fileURLToPath(import.meta.url));
  const places = [join(here, "assets", "console"), join(here, "../../../console/dist")];
  return places.find((place) => existsSync(join(place, "index.html"))) ?? null;
}

const notBuilt = (): AppError =>
  new AppError("NOT_FOUND", "unknown", "The console is not built", {
    remedy: "build it with: npm run build:console, then start the server again",
  });

async function listed(folder: string): Promise<ReadonlySet<string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return new Set(
    entries
      .filter((entry) => entry.isFile() && extname(entry.name) in TYPES)
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
      .map((name) => name.replaceAll("\\", "/")),
  );
}

async function read(path: string): Promise<BuiltFile> {
  const plain = new Uint8Array(await readFile(path));
  const gzipped = new Uint8Array(await compress(plain));
  return { type: TYPES[extname(path)] ?? "application/octet-stream", plain, gzipped };
}

function responseOf({ type, plain, gzipped }: BuiltFile, accepts: string, name: string): Response {
  const isSmaller = gzipped.byteLength < plain.byteLength;
  const zipped = isSmaller && /\bgzip\b/.test(accepts);
  // Names below assets/ carry a hash of their content.
  const isHashed = name.startsWith("assets/");
  return new Response(zipped ? gzipped : plain, {
    headers: {
      "Content-Type": type,
      ...(zipped ? { "Content-Encoding": "gzip" } : {}),
      Vary: "Accept-Encoding",
      "Cache-Control": isHashed ? "public, max-age=31536000, immutable" : "no-cache",
      "X-Content-Type-Options": "nosniff",
    },
  });
}
