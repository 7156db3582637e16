// Files of the workspace. Every path is checked before it is used, and what was opened is compared with what was
// checked.
import type { Call } from "../../../contract/call.ts";
import type { FileRules } from "../../../governance/rules/governance.ts";
import type { FilesPower } from "../../../contract/powers/files.ts";
import { copyWith } from "./files/copy.ts";
import { makeFolderWith } from "./files/folder.ts";
import { guardOf } from "./files/guarded.ts";
import { keepWith } from "./files/keep.ts";
import { listWith } from "./files/list.ts";
import { moveWith } from "./files/move.ts";
import type { FileContext } from "./files/place.ts";
import { readWith } from "./files/read.ts";
import { removeWith } from "./files/remove.ts";
import { searchWith, type FileSearchSettings } from "./files/search.ts";
import { statWith } from "./files/stat.ts";
import { searchThreads } from "./files/search-threads.ts";
import { receiveWith, writeWith } from "./files/write.ts";

export interface FilesSettings extends Partial<FileSearchSettings> {
  /** The governance rules for files, for this call. */
  readonly rulesFor: (call: Call) => Promise<FileRules>;
}

const NARROW_FROM = 4_194_304;

export function filesPower({
  rulesFor,
  threads = searchThreads(),
  sandbox = null,
  narrowFrom = NARROW_FROM,
}: FilesSettings) {
  const inTurn = turns();
  const searching = { threads, sandbox, narrowFrom };
  return (call: Call, signal: AbortSignal): FilesPower => {
    let known: Promise<FileContext> | null = null;
    const context = (): Promise<FileContext> => {
      signal.throwIfAborted();
      return (known ??= rulesFor(call).then((rules) => ({
        rules,
        paths: rules.pathRules,
        signal,
        inTurn,
        requireUnguarded: guardOf(rules.pathRules),
      })));
    };
    return {
      read: async (path, { maxBytes }) => {
        const here = await context();
        return readWith(here, Math.min(maxBytes, here.rules.maxReadBytes))(path);
      },
      list: async (path, options) => listWith(await context())(path, options),
      stat: async (path) => statWith(await context())(path),
      write: async (path, bytes, options) => writeWith(await context())(path, bytes, options),
      receive: async (path, source, options) => receiveWith(await context())(path, source, options),
      move: async (from, to, options) => moveWith(await context())(from, to, options),
      copy: async (from, to, options) => copyWith(await context())(from, to, options),
      makeFolder: async (path, options) => makeFolderWith(await context())(path, options),
      remove: async (path, options) => removeWith(await context())(path, options),
      search: async (path, query) =>
        searchWith(await context(), {
          ...searching,
          owner: `${call.caller.tenantId}/${call.caller.userId}`,
        })(path, query),
      keep: async (name, bytes) => keepWith(await context(), call.id)(name, bytes),
    };
  };
}

/** Work that is done one after the other. */
function turns(): FileContext["inTurn"] {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
}
