// How many calls a key may make; a field left empty is no limit.
import { TextField } from "../../../ui/field.tsx";
import { numberOf } from "../choices.ts";

export interface LimitsDraft {
  readonly perMinute: string;
  readonly perHour: string;
  readonly perDay: string;
}

export const NO_LIMITS: LimitsDraft = { perMinute: "", perHour: "", perDay: "" };

const WINDOWS = [
  ["perMinute", "Calls a minute", 1_000],
  ["perHour", "Calls an hour", 10_000],
  ["perDay", "Calls a day", 100_000],
] as const;

/** Null: none is limited. */
export function limitsOf(draft: LimitsDraft): Partial<Record<keyof LimitsDraft, number>> | null {
  const given = WINDOWS.map(([name]) => [name, numberOf(draft[name])] as const).filter(
    ([, value]) => value !== undefined,
  );
  return given.length === 0 ? null : Object.fromEntries(given);
}

export function LimitFields({
  draft,
  set,
  fault,
}: {
  readonly draft: LimitsDraft;
  readonly set: (change: Partial<LimitsDraft>) => void;
  readonly fault: (path: string) => string | undefined;
}) {
  return (
    <div className="grid gap-3 sm:grid-cols-3">
      {WINDOWS.map(([name, label, max]) => (
        <TextField
          key={name}
          label={label}
          type="number"
          min={1}
          max={max}
          placeholder="no limit"
          value={draft[name]}
          fault={fault(`/limits/${name}`)}
          onChange={(event) => set({ [name]: event.target.value })}
        />
      ))}
    </div>
  );
}
