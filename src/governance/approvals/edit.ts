// The arguments an approver wants instead of the caller's: unmasked, validated and sealed anew.
import { narrowingOf, type JsonObject, type Mandate } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { taintIn } from "../../contract/taint.ts";
import type { ApprovalRow } from "../../storage/store/store.ts";
import { canonicalJson } from "../../util/json/json.ts";
import { bindingOf, ownKeyOf } from "./binding.ts";
import type { ApprovalPowers } from "./powers.ts";
import { type Seal, sealedIn } from "./seal.ts";
import { unmask } from "./unmask.ts";

export interface ArgumentsEdit {
  /** Masked. */
  readonly arguments: JsonObject;
  readonly sealed: string;
  readonly binding: string;
}

/** Undefined when the wanted arguments are the call's own. */
export async function editOf(
  row: ApprovalRow,
  wanted: JsonObject,
  seal: Seal,
  p: Pick<ApprovalPowers, "masker" | "registry" | "validate">,
): Promise<ArgumentsEdit | undefined> {
  const call = seal.open(row.id, sealedIn(row));
  const { arguments: args, faults } = unmask(
    wanted,
    call.arguments,
    await p.masker.valueInSlices(call.arguments),
    p.masker,
  );
  if (canonicalJson(args) === canonicalJson(call.arguments)) return undefined;
  const tool = p.registry.get(row.toolName);
  if (tool?.pin !== row.toolPin)
    throw new AppError(
      "CONFLICT",
      "stale",
      `${row.toolName} is no longer the tool that was asked for`,
      { remedy: "deny it; the caller may ask again" },
    );
  const errors = faults.length > 0 ? faults : p.validate(tool, args);
  if (errors)
    throw new AppError(
      "BAD_REQUEST",
      "invalid_arguments",
      `Input validation failed: ${errors[0]?.path}: ${errors[0]?.message}`,
      { errors, remedy: `ostiary tools show ${row.toolName} prints the schema` },
    );
  return {
    arguments: await p.masker.valueInSlices(args),
    sealed: seal.close(row.id, { ...call, arguments: args }),
    // What has no mandate is over, and was ended before.
    binding: bindingOf(
      {
        ...row,
        narrowing: narrowingOf(call.mandate as Mandate),
        tainted: taintIn(call.metadata).length > 0,
        ownKey: ownKeyOf(call),
      },
      args,
    ),
  };
}
