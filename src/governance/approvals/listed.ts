// Approvals in lists: their arguments up to a size each, and pages up to a size.
import type { JsonObject } from "../../contract/call.ts";
import type { ApprovalHead, ApprovalRow, Cut, Store } from "../../storage/store/store.ts";
import type { ApprovalPowers } from "./powers.ts";

/** Of one approval's arguments, and as much of the edited ones. */
export const KEPT_BYTES = 65_536;
/** A page ends with the row that reaches it. */
export const PAGE_BYTES = 4_194_304;
/** What is read for one page, however little of it is shown: one requester's worth of waiting calls. */
export const READ_BYTES = 16_777_216;
/** Arguments read at once; a single one may have more. */
const CHUNK_BYTES = 1_048_576;

type CutToSize = ApprovalPowers["cutToSize"];
type Arguments = Pick<ApprovalRow, "arguments" | "editedArguments">;

export interface ListedApproval extends Arguments {
  /** Only the beginning is there. */
  readonly argumentsCut?: Cut;
  readonly editedArgumentsCut?: Cut;
}

/** As a type of its own, so that it is JSON in an event too. */
type CutNote = { readonly size: number; readonly sha256: string };

export function listedArguments(
  args: JsonObject,
  keep: CutToSize,
): { arguments: JsonObject; argumentsCut?: CutNote } {
  const { value, cut } = keep(args, KEPT_BYTES);
  return { arguments: value, ...(cut ? { argumentsCut: { ...cut } } : {}) };
}

export function listedEdit(
  args: JsonObject,
  keep: CutToSize,
): { editedArguments: JsonObject; editedArgumentsCut?: CutNote } {
  const { value, cut } = keep(args, KEPT_BYTES);
  return { editedArguments: value, ...(cut ? { editedArgumentsCut: { ...cut } } : {}) };
}

/** The heads' arguments as lists show them, in the same order. Large ones are in memory a few at a time. */
export async function readListed(
  heads: readonly ApprovalHead[],
  store: Pick<Store["approvals"], "argumentsOf">,
  keep: CutToSize,
): Promise<ListedApproval[]> {
  const listed: ListedApproval[] = [];
  for (const chunk of chunksOf(heads)) {
    const found = await store.argumentsOf(chunk.map(({ id }) => id));
    for (const { id } of chunk) {
      const row = found.get(id) as Arguments; // rows are never deleted
      listed.push({
        ...listedArguments(row.arguments, keep),
        ...(row.editedArguments === null
          ? { editedArguments: null }
          : listedEdit(row.editedArguments, keep)),
      });
    }
  }
  return listed;
}

function chunksOf(heads: readonly ApprovalHead[]): ApprovalHead[][] {
  const chunks: ApprovalHead[][] = [];
  let room = 0;
  for (const head of heads) {
    room -= head.bytes;
    const last = chunks.at(-1);
    if (last && room >= 0) last.push(head);
    else {
      chunks.push([head]);
      room = CHUNK_BYTES - head.bytes;
    }
  }
  return chunks;
}
