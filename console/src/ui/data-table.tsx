// A list of any length: a real table of which only the rows in view exist. Rows never move while one is pointed at.
import { createColumnHelper, tableFeatures, useTable } from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef } from "react";
import { cx } from "./class-names.ts";

export interface Column<R> {
  readonly id: string;
  readonly header: string;
  readonly cell: (row: R) => ReactNode;
  /** Tailwind width, e.g. `w-40`; without one the column takes what is left. */
  readonly width?: string;
  /** Left out on narrow screens. */
  readonly wideOnly?: boolean;
  /** Left out unless the screen is very wide. */
  readonly widestOnly?: boolean;
  readonly align?: "right";
}

const features = tableFeatures({});
const ROW_PX = 36;

export function DataTable<R extends object>({
  label,
  rows,
  columns,
  rowId,
  onOpen,
  isCurrent,
  selection,
  onEnd,
  className,
  minWidth,
}: {
  readonly label: string;
  /** Keep it the same array while nothing changed. */
  readonly rows: readonly R[];
  /** Constant. */
  readonly columns: readonly Column<R>[];
  readonly rowId: (row: R) => string;
  readonly onOpen?: (row: R) => void;
  readonly isCurrent?: (row: R) => boolean;
  /** Rows with a box before them. */
  readonly selection?: {
    readonly chosen: ReadonlySet<string>;
    readonly onToggle: (id: string) => void;
  };
  /** The last rows are in view: there may be more to ask for. */
  readonly onEnd?: () => void;
  /** The height, e.g. `h-[60vh]`. */
  readonly className?: string;
  /** Where every column counts: on a narrow screen the table scrolls sideways, e.g. `min-w-160`. */
  readonly minWidth?: string;
}) {
  const helper = useMemo(() => createColumnHelper<typeof features, R>(), []);
  const definitions = useMemo(
    () =>
      helper.columns(
        columns.map((column) =>
          helper.display({
            id: column.id,
            header: column.header,
            cell: ({ row }) => column.cell(row.original),
          }),
        ),
      ),
    [helper, columns],
  );
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
    getItemKey: (index) => {
      const row = rows[index];
      return row === undefined ? index : rowId(row);
    },
  });
  const items = virtual.getVirtualItems();
  // The table is told of the rows in view alone: a model of all would be made anew with every page.
  const first = items[0]?.index ?? 0;
  const inView = useMemo(
    () => rows.slice(first, first + items.length),
    [rows, first, items.length],
  );
  const table = useTable({ features, columns: definitions, data: inView, getRowId: rowId });
  const model = table.getRowModel().rows;
  const isAtEnd = rows.length > 0 && items.at(-1)?.index === rows.length - 1;
  const atEnd = useRef(onEnd);
  atEnd.current = onEnd;
  useEffect(() => {
    if (isAtEnd) atEnd.current?.();
  }, [isAtEnd, rows.length]);
  const before = items[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  const byId = useMemo(() => new Map(columns.map((column) => [column.id, column])), [columns]);
  const classOf = (id: string): string => {
    const column = byId.get(id);
    return cx(
      "overflow-hidden px-3 text-ellipsis whitespace-nowrap",
      column?.width,
      column?.wideOnly && "max-md:hidden",
      column?.widestOnly && "max-2xl:hidden",
      column?.align === "right" ? "text-right tabular-nums" : "text-left",
    );
  };
  return (
    <div ref={scroller} className={cx("overflow-auto", className ?? "max-h-[70vh]")}>
      <table
        aria-label={label}
        aria-rowcount={rows.length + 1}
        className={cx("w-full table-fixed border-collapse", minWidth)}
      >
        <thead className="sticky top-0 z-10 bg-surface">
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id} className="h-9 border-b border-line text-[13px] text-muted">
              {selection ? (
                <th scope="col" className="w-9 px-3">
                  <span className="sr-only">Selected</span>
                </th>
              ) : null}
              {group.headers.map((header) => (
                <th
                  key={header.id}
                  scope="col"
                  className={cx(classOf(header.column.id), "font-medium")}
                >
                  <table.FlexRender header={header} />
                </th>
              ))}
            </tr>
          ))}
        </thead>
        <tbody>
          {before > 0 ? <tr aria-hidden="true" style={{ height: before }} /> : null}
          {items.map((item) => {
            const row = model[item.index - first];
            if (!row) return null;
            const current = isCurrent?.(row.original) ?? false;
            return (
              <tr
                key={row.id}
                aria-rowindex={item.index + 2}
                data-row={row.id}
                aria-current={current || undefined}
                tabIndex={onOpen ? 0 : undefined}
                onClick={onOpen ? () => onOpen(row.original) : undefined}
                onKeyDown={
                  onOpen ? (event) => openOrMove(event, () => onOpen(row.original)) : undefined
                }
                style={{ height: ROW_PX }}
                className={cx(
                  "border-b border-line/60",
                  onOpen &&
                    "cursor-pointer hover:bg-raised focus-visible:bg-raised focus-visible:-outline-offset-2",
                  current && "bg-accent-soft",
                )}
              >
                {selection ? (
                  <td className="px-3" onClick={(event) => event.stopPropagation()}>
                    <input
                      type="checkbox"
                      aria-label={`Select ${row.id}`}
                      className="size-4 align-middle accent-(--accent)"
                      checked={selection.chosen.has(row.id)}
                      onChange={() => selection.onToggle(row.id)}
                    />
                  </td>
                ) : null}
                {row.getAllCells().map((cell) => (
                  <td key={cell.id} className={classOf(cell.column.id)}>
                    <table.FlexRender cell={cell} />
                  </td>
                ))}
              </tr>
            );
          })}
          {after > 0 ? <tr aria-hidden="true" style={{ height: after }} /> : null}
        </tbody>
      </table>
    </div>
  );
}

/** Enter opens, j and k or the arrows go to the neighbour, x selects. */
function openOrMove(event: KeyboardEvent<HTMLTableRowElement>, open: () => void): void {
  if (event.target !== event.currentTarget) return;
  const row = event.currentTarget;
  const move = (to: Element | null): void => {
    if (to instanceof HTMLElement && to.dataset["row"] !== undefined) to.focus();
  };
  if (event.key === "Enter") open();
  else if (event.key === "j" || event.key === "ArrowDown") move(row.nextElementSibling);
  else if (event.key === "k" || event.key === "ArrowUp") move(row.previousElementSibling);
  else if (event.key === "x") row.querySelector<HTMLInputElement>("input[type=checkbox]")?.click();
  else return;
  event.preventDefault();
}
