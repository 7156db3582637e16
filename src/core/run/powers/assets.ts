// Files for the caller, with a link. Each is marked with the call that made it; others' cannot be read.
import type { Call } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import type { AssetsPower } from "../../../contract/powers/assets.ts";
import { assetUrl, type Assets } from "../../../storage/assets/assets.ts";
import { untilAborted } from "../aborted.ts";

export const assetsPower =
  (assets: Assets) =>
  ({ id: executionId, sessionId, caller }: Call, signal: AbortSignal): AssetsPower => {
    // Never as an administrator: a tool reads only what belongs to its caller.
    const owner = { tenantId: caller.tenantId, userId: caller.userId };
    return untilAborted<AssetsPower>(
      {
        requireRoom: () => assets.requireRoom(owner),
        async keep(file) {
          const { id } = await assets.keep(owner, { ...file, sessionId, executionId });
          return { assetId: id, url: assetUrl(id) };
        },
        async read(id, { maxBytes }) {
          const { size } = await assets.get(owner, id);
          if (size > maxBytes)
            throw new AppError(
              "FORBIDDEN",
              "size_exceeded",
              `asset ${id}: at most ${maxBytes} bytes, got ${size}`,
              { remedy: "use a smaller file" },
            );
          const { name, mime, bytes } = await assets.read(owner, id);
          return { name, mime, bytes };
        },
      },
      signal,
    );
  };
