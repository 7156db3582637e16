// Files that models made and people sent: bounded, with their type, kept for their owner. What is served of them is
// never run by a browser.
import { createHash } from "node:crypto";
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { mimeOf } from "../../util/files/mime.ts";
import type { Ids } from "../../util/ids.ts";
import type { AssetReader, AssetRow, ConversationOwner, Store } from "../store/store.ts";

export interface NewAsset {
  readonly name: string;
  readonly mime: string;
  readonly bytes: Uint8Array;
  readonly sessionId?: string | null;
  readonly executionId?: string | null;
}

export interface Assets {
  /** Refuses what is too large, and what its owner has no room for. A picture is kept as the kind that it is. */
  keep(owner: ConversationOwner, asset: NewAsset): Promise<AssetRow>;
  /** Refuses when the owner has no room for anything: asked before something is paid for. */
  requireRoom(owner: ConversationOwner): Promise<void>;
  /** NOT_FOUND for others', as for those that do not exist. */
  get(reader: AssetReader, id: string): Promise<AssetRow>;
  read(reader: AssetReader, id: string): Promise<AssetRow & { readonly bytes: Uint8Array }>;
  list(
    reader: AssetReader,
    page: { limit: number; after?: string; sessionId?: string },
  ): Promise<AssetRow[]>;
  remove(reader: AssetReader, id: string): Promise<void>;
}

export interface AssetsPowers {
  readonly assets: Store["assets"];
  readonly mostBytesPerUser: number;
  readonly ids: Pick<Ids, "handle">;
  readonly now: () => number;
}

export const MAX_ASSET_BYTES = 26_214_400;
const MAX_NAME = 200;
/** Pictures that models can read. */
export const PICTURES: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** Served as what they are; everything else, SVG too, is a file of unknown kind to a browser. */
const SERVED: Readonly<Record<string, string>> = {
  ...Object.fromEntries(PICTURES.map((mime) => [mime, mime])),
  "audio/mpeg": "audio/mpeg",
  "audio/wav": "audio/wav",
  "audio/ogg": "audio/ogg",
  "application/pdf": "application/pdf",
  "text/plain": "text/plain; charset=utf-8",
};

export const assetUrl = (id: string): string => `/api/v1/assets/${id}`;

/** An administrator reads those of the whole tenant. */
export const readerOf = ({ tenantId, userId, role }: Caller): AssetReader =>
  role === "admin" ? { tenantId } : { tenantId, userId };

export function assetHeaders({ name, mime, size }: AssetRow): Record<string, string> {
  const type = SERVED[mime] ?? "application/octet-stream";
  const isShown = /^(image|audio)\//.test(type);
  return {
    "Content-Type": type,
    "Content-Length": String(size),
    "Content-Disposition": `${isShown ? "inline" : "attachment"}; filename*=UTF-8''${quoted(name)}`,
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, max-age=300",
  };
}

/** RFC 5987. */
const quoted = (name: string): string =>
  encodeURIComponent(name).replace(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );

export function openAssets(p: AssetsPowers): Assets {
  const { assets, mostBytesPerUser } = p;
  const get = async (reader: AssetReader, id: string): Promise<AssetRow> => {
    const row = await assets.get(reader, id);
    if (row) return row;
    throw notFound(id);
  };
  const noRoom = async (owner: ConversationOwner, more: number): Promise<AppError> => {
    const used = await assets.used(owner);
    const message = `your files take ${used} of ${mostBytesPerUser} bytes: no room for ${more} more`;
    return new AppError("FORBIDDEN", "size_exceeded", message, {
      remedy: "remove some: DELETE /api/v1/assets/{id}, or raise assets.maxMbPerUser",
    });
  };
  return {
    get,
    async keep({ tenantId, userId }, { name, mime, bytes, sessionId, executionId }) {
      requireSize(name, bytes);
      const createdAt = p.now();
      const row: AssetRow = {
        id: p.ids.handle("ast", createdAt),
        tenantId,
        userId,
        sessionId: sessionId ?? null,
        executionId: executionId ?? null,
        name: baseName(name),
        mime: PICTURES.includes(mime) ? typeOf(bytes) : mime,
        size: bytes.length,
        sha256: createHash("sha256").update(bytes).digest("hex"),
        createdAt,
      };
      if (await assets.put(row, bytes, mostBytesPerUser)) return row;
      throw await noRoom(row, bytes.length);
    },
    async requireRoom(owner) {
      if ((await assets.used(owner)) >= mostBytesPerUser) throw await noRoom(owner, 1);
    },
    async read(reader, id) {
      const row = await get(reader, id);
      const bytes = await assets.bytes(id);
      if (!bytes) throw notFound(id);
      return { ...row, bytes };
    },
    list: (reader, page) => assets.list(reader, page),
    async remove(reader, id) {
      if (!(await assets.remove(reader, id))) throw notFound(id);
    },
  };
}

const notFound = (id: string): AppError =>
  new AppError("NOT_FOUND", "unknown", `asset ${JSON.stringify(id)} not found`, {
    remedy: "list your assets: GET /api/v1/assets",
  });

/** The last part of a path, without what would break a header or a line. */
const baseName = (name: string): string =>
  (name.split(/[/\\]/).at(-1) ?? "").replace(/\p{Cc}/gu, "").slice(0, MAX_NAME) || "file";

/** As its first bytes say. */
export const typeOf = (bytes: Uint8Array): string => mimeOf("", bytes, true);

function requireSize(name: string, bytes: Uint8Array): void {
  if (bytes.length > MAX_ASSET_BYTES)
    throw new AppError(
      "FORBIDDEN",
      "size_exceeded",
      `${name}: at most ${MAX_ASSET_BYTES} bytes, got ${bytes.length}`,
      { remedy: "use a smaller file" },
    );
}
