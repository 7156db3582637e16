// Pictures in a conversation: those a person sends, checked before a turn begins, and those a model reads and gives
// out.
import { AppError } from "../../contract/errors.ts";
import type { ModelImage } from "../../contract/powers/model.ts";
import { PICTURES, type Assets } from "../../storage/assets/assets.ts";
import type { ConversationOwner } from "../../storage/store/store.ts";

/** Of one message: providers take no more. */
const MAX_BYTES = 20_971_520;
/** Of a whole conversation that is read again; older ones are only mentioned. */
export const MAX_SHOWN = 8;

/** Every id is a picture of the person's own, and all of them together are not too large. */
export async function requirePictures(
  owner: ConversationOwner,
  ids: readonly string[],
  assets: Assets,
): Promise<void> {
  let bytes = 0;
  for (const [at, id] of ids.entries()) {
    const row = await assets.get(ownOnly(owner), id).catch(() => null);
    if (!row)
      throw fault(at, `asset ${JSON.stringify(id)} not found`, "add it: POST /api/v1/assets");
    if (!PICTURES.includes(row.mime))
      throw fault(at, `expected ${PICTURES.join(", ")}, got ${row.mime}`, "send a picture");
    bytes += row.size;
    if (bytes > MAX_BYTES)
      throw fault(at, `all pictures together: at most ${MAX_BYTES} bytes`, "send fewer or smaller");
  }
}

const fault = (at: number, message: string, remedy: string): AppError =>
  new AppError("BAD_REQUEST", "invalid_input", `images: ${message}`, {
    remedy,
    errors: [{ path: `/images/${at}`, message }],
  });

/** What is left of them: one that was removed meanwhile is not shown. */
export async function readPictures(
  owner: ConversationOwner,
  ids: readonly string[],
  assets: Assets,
): Promise<readonly ModelImage[]> {
  const read = ids.map((id) =>
    assets.read(ownOnly(owner), id).then(
      ({ mime, bytes }) => [{ mime, bytes }],
      (cause: unknown) => {
        if (cause instanceof AppError && cause.fault.code === "NOT_FOUND") return [];
        throw cause;
      },
    ),
  );
  return (await Promise.all(read)).flat();
}

/** Keeps what a model drew; answers the ids. */
export async function keepPictures(
  owner: ConversationOwner & { readonly sessionId: string },
  images: readonly ModelImage[],
  assets: Assets,
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const { mime, bytes } of images) {
    const name = `image-${ids.length + 1}.${mime.slice(mime.indexOf("/") + 1)}`;
    const { sessionId } = owner;
    ids.push((await assets.keep(ownOnly(owner), { name, mime, bytes, sessionId })).id);
  }
  return ids;
}

const ownOnly = ({ tenantId, userId }: ConversationOwner): ConversationOwner => ({
  tenantId,
  userId,
});
