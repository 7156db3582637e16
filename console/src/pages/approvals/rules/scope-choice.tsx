// How far a yes reaches: this call, or calls like it for a while.
import type { Inputs } from "../../../api/client.ts";
import { Select } from "../../../ui/field.tsx";
import type { Approval } from "../approval.ts";
import { MatchFields } from "./match-fields.tsx";
import { RuleTest } from "./rule-test.tsx";

export type Matches = NonNullable<Inputs["approvals"]["draftApprovalRule"]["matches"]>;

export interface Scope {
  /** Null: this call alone. */
  readonly forSeconds: number | null;
  /** Undefined: exactly the same arguments. */
  readonly matches: Matches | undefined;
}

const TIMES: readonly (readonly [string, string])[] = [
  ["", "this call only"],
  ["3600", "calls like it for an hour"],
  ["28800", "calls like it for 8 hours"],
  ["86400", "calls like it for a day"],
  ["604800", "calls like it for 7 days"],
  ["2592000", "calls like it for 30 days"],
];

export function ScopeChoice({
  row,
  scope,
  onChange,
  isEdit,
}: {
  readonly row: Approval;
  readonly scope: Scope;
  readonly onChange: (scope: Scope) => void;
  readonly isEdit: boolean;
}) {
  const isRule = scope.forSeconds !== null;
  return (
    <fieldset className="flex flex-col gap-3 rounded-md border border-line p-3">
      <legend className="px-1 text-[13px] font-medium">How far it reaches</legend>
      <Select
        label="Approve"
        value={scope.forSeconds === null ? "" : String(scope.forSeconds)}
        options={TIMES}
        onChange={({ target }) =>
          onChange({ ...scope, forSeconds: target.value === "" ? null : Number(target.value) })
        }
        hint={
          isRule
            ? `A standing rule: ${row.requester} may call ${row.toolName} unasked. It waives asking, never a refusal, and can be revoked.`
            : "The next call like it asks again."
        }
      />
      {isRule ? (
        <>
          <Select
            label="Which calls are like it"
            value={scope.matches === undefined ? "same" : "some"}
            options={[
              ["same", "those with exactly the same arguments"],
              ["some", "those that agree in the arguments that I choose"],
            ]}
            onChange={({ target }) =>
              onChange({ ...scope, matches: target.value === "same" ? undefined : [] })
            }
          />
          {scope.matches === undefined ? null : (
            <MatchFields row={row} onChange={(matches) => onChange({ ...scope, matches })} />
          )}
          {isEdit ? (
            <p className="text-[13px] text-muted">
              The rule is drafted from the arguments as they are edited; it can be tested once they
              are approved.
            </p>
          ) : (
            <RuleTest row={row} matches={scope.matches} />
          )}
        </>
      ) : null}
    </fieldset>
  );
}
