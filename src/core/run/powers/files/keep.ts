// What a tool made that is too large or too binary for its answer.
import { AppError } from "../../../../contract/errors.ts";
import type { FilesPower } from "../../../../contract/powers/files.ts";
import { safeName } from "../../../../util/text/safe-name.ts";
import type { FileContext } from "./place.ts";
import { put } from "./write.ts";

const MAX_KEPT_BYTES = 104_857_600;
const PIECE_BYTES = 262_144;
const MAX_SAME_NAME = 100;

export const keepWith =
  (context: FileContext, executionId: string): FilesPower["keep"] =>
  async (name, bytes) => {
    if (context.paths.scratch === null)
      throw new AppError(
        "UNAVAILABLE",
        "provider_not_configured",
        "this server keeps no scratch folders",
        { remedy: "ask for a smaller result" },
      );
    const { base, end } = plainName(name);
    for (let count = 1; ; count++) {
      const path = `$SCRATCH/executions/${safeName(executionId)}/${base}${count === 1 ? "" : `-${count}`}${end}`;
      try {
        return (
          await put(context, path, pieces(bytes), {
            mode: "create",
            makeFolders: true,
            maxBytes: MAX_KEPT_BYTES,
            fleeting: true,
          })
        ).path;
      } catch (cause) {
        const taken = cause instanceof AppError && cause.fault.reason === "already_exists";
        if (!taken || count >= MAX_SAME_NAME) throw cause;
      }
    }
  };

/** So that no call waits for the checksum of all of it. */
function* pieces(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}

/** One visible component, whatever the tool calls it. */
function plainName(name: string): { base: string; end: string } {
  const plain = name.replace(/[^A-Za-z0-9._-]+/g, "_").replace(/^[.-]+/, "") || "file";
  const [, base = "", end = ""] = /^(.+?)(\.[A-Za-z0-9]{1,10})?$/.exec(plain) ?? [];
  return { base: base.slice(0, 80), end };
}
