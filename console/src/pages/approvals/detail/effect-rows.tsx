import { cx } from "../../../ui/class-names.ts";
import { visibleText } from "../../../ui/code.tsx";
import type { Effect } from "../approval.ts";

type Rows = Extract<Effect, { kind: "database" }>;

const VERBS: Record<Rows["action"], string> = {
  insert: "Adds",
  update: "Changes",
  delete: "Deletes",
  read: "Reads",
};

export function RowChanges({ effect }: { readonly effect: Rows }) {
  const {
    action,
    rows,
    table,
    connection,
    engine,
    columns,
    before,
    after,
    cut,
    skipped,
    otherRows = 0,
  } = effect;
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <p>
        <strong>
          {VERBS[action]} {action === "read" ? "" : rows.toLocaleString()}{" "}
          {rows === 1 ? "row" : "rows"}
        </strong>{" "}
        {table === null ? "" : "of "}
        {table === null ? null : <code>{visibleText(table)}</code>} in{" "}
        <code>{visibleText(connection)}</code> ({engine})
        {skipped === undefined || skipped === 0
          ? ""
          : `; ${skipped.toLocaleString()} exist already and stay`}
      </p>
      {otherRows === 0 ? null : (
        <p className="font-medium text-hold">
          And {otherRows.toLocaleString()} more {otherRows === 1 ? "row" : "rows"}, by triggers and
          foreign keys of the database
        </p>
      )}
      {before.length > 0 ? (
        <RowTable
          title={action === "read" ? "Rows" : "As they are"}
          columns={columns}
          rows={before}
          other={after}
          sign={action === "read" ? "" : "−"}
        />
      ) : null}
      {after.length > 0 ? (
        <RowTable title="As they will be" columns={columns} rows={after} other={before} sign="+" />
      ) : null}
      {cut ? (
        <p className="text-[13px] text-muted">There is more than is shown; long values are cut.</p>
      ) : null}
    </div>
  );
}

function RowTable({
  title,
  columns,
  rows,
  other,
  sign,
}: {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  readonly other: readonly (readonly unknown[])[];
  readonly sign: string;
}) {
  const text = (value: unknown): string =>
    value === null ? "NULL" : typeof value === "string" ? value : JSON.stringify(value);
  return (
    <div className="overflow-x-auto" tabIndex={0} role="region" aria-label={title}>
      <table className="w-full text-left text-[13px]">
        <caption className="pb-1 text-left text-xs text-muted">{title}</caption>
        <thead>
          <tr className="border-b border-line text-muted">
            <th scope="col" className="w-5">
              <span className="sr-only">Change</span>
            </th>
            {columns.map((column) => (
              <th key={column} scope="col" className="px-2 py-1 font-medium">
                {visibleText(column)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at} className="border-b border-line/60">
              <td aria-hidden className="text-muted">
                {sign}
              </td>
              {row.map((value, column) => {
                const isChanged =
                  sign !== "" && JSON.stringify(value) !== JSON.stringify(other[at]?.[column]);
                return (
                  <td
                    key={column}
                    className={cx(
                      "px-2 py-1 font-mono",
                      isChanged && (sign === "+" ? "bg-ok-soft text-ok" : "bg-deny-soft text-deny"),
                    )}
                  >
                    {visibleText(text(value))}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
