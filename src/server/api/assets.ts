// Files that models made and people sent: the owner's, and for administrators those of the tenant.
import { z } from "zod";
import type { AssetRow } from "../../storage/store/store.ts";
import {
  assetHeaders,
  assetUrl,
  MAX_ASSET_BYTES,
  PICTURES,
  readerOf,
  typeOf,
} from "../../storage/assets/assets.ts";
import { downloadEndpoint, endpoint, fieldFault } from "./endpoint.ts";
import { iso, page, pageOf, time } from "./shapes.ts";

const handle = z.string().min(1).max(128);
const MAX_BASE64 = Math.ceil(MAX_ASSET_BYTES / 3) * 4;

const asset = z.object({
  id: z.string(),
  userId: z.string(),
  sessionId: z.string().nullable(),
  executionId: z.string().nullable().describe("The call that made it; null: a person sent it"),
  name: z.string(),
  mime: z.string(),
  size: z.int().describe("Bytes"),
  sha256: z.string(),
  url: z.string().describe("Where its content is"),
  createdAt: time,
});

const view = ({ tenantId: _tenant, createdAt, ...row }: AssetRow): z.input<typeof asset> => ({
  ...row,
  url: assetUrl(row.id),
  createdAt: iso(createdAt),
});

export const addAsset = endpoint({
  name: "assets.addAsset",
  method: "POST",
  path: "/assets",
  access: "caller",
  summary: "Keep a file, e.g. a picture to show in a chat",
  statuses: [201],
  input: z.strictObject({
    name: z.string().trim().min(1).max(200),
    mime: z
      .string()
      .max(100)
      .regex(/^[a-z]+\/[a-z0-9.+-]+$/, "expected a media type such as image/png"),
    data: z
      .base64()
      .min(1)
      .max(MAX_BASE64)
      .describe("The content as base64; the limit of request bodies counts too"),
    sessionId: handle.optional().describe("One of your sessions: it is removed with it"),
  }),
  output: asset,
  async run({ name, mime, data, sessionId = null }, { caller, doors, reply }) {
    if (sessionId !== null) await doors.chat.getSession(caller, sessionId);
    const bytes = Buffer.from(data, "base64");
    const found = PICTURES.includes(mime) ? typeOf(bytes) : mime;
    if (found !== mime) throw fieldFault("/mime", `the content is ${found}, not ${mime}`);
    const row = await doors.assets.keep(caller, { name, mime, bytes, sessionId });
    const { id, size, sha256 } = row;
    await doors.audit("asset.added", caller, { assetId: id, mime, size, sha256, sessionId });
    reply.headers["Location"] = assetUrl(row.id);
    return view(row);
  },
});

export const listAssets = endpoint({
  name: "assets.listAssets",
  method: "GET",
  path: "/assets",
  access: "caller",
  summary: "Your files, oldest first; administrators see those of the tenant with all: true",
  input: page.extend({
    sessionId: handle.optional(),
    all: z.boolean().default(false).describe("Of every user; administrators only"),
  }),
  output: z.object({ items: z.array(asset), next: z.string().nullable() }),
  async run({ sessionId, all, ...at }, { caller, doors }) {
    if (all && caller.role !== "admin") throw fieldFault("/all", "only administrators may");
    const reader = all ? readerOf(caller) : { tenantId: caller.tenantId, userId: caller.userId };
    const filter = sessionId === undefined ? {} : { sessionId };
    return pageOf(at, (rows) => doors.assets.list(reader, { ...rows, ...filter }), view);
  },
});

export const getAssetDetails = endpoint({
  name: "assets.getAssetDetails",
  method: "GET",
  path: "/assets/{id}/details",
  access: "caller",
  summary: "What a file is: type, size, digest, where it came from",
  input: z.strictObject({ id: handle }),
  output: asset,
  run: async ({ id }, { caller, doors }) => view(await doors.assets.get(readerOf(caller), id)),
});

export const getAsset = downloadEndpoint({
  name: "assets.getAsset",
  method: "GET",
  path: "/assets/{id}",
  access: "caller",
  contentType: "application/octet-stream",
  summary: "The content of a file, with its own type where that is safe to show",
  input: z.strictObject({ id: handle }),
  async download({ id }, { caller, doors }) {
    const { bytes, ...row } = await doors.assets.read(readerOf(caller), id);
    return { headers: assetHeaders(row), body: inPieces(bytes) };
  },
});

export const removeAsset = endpoint({
  name: "assets.removeAsset",
  method: "DELETE",
  path: "/assets/{id}",
  access: "caller",
  summary: "Remove a file; messages that showed it stay without it",
  input: z.strictObject({ id: handle }),
  output: z.object({ removed: z.literal(true) }),
  async run({ id }, { caller, doors }) {
    const { userId: ownerId, sha256 } = await doors.assets.get(readerOf(caller), id);
    await doors.assets.remove(readerOf(caller), id);
    await doors.audit("asset.removed", caller, { assetId: id, ownerId, sha256 });
    return { removed: true as const };
  },
});

const PIECE_BYTES = 262_144;

/** A reader that loses access meanwhile gets no further part. */
async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES)
    yield await Promise.resolve(bytes.subarray(at, at + PIECE_BYTES));
}
