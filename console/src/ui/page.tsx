// The frame of every page: heading, actions, sections.
import { type ReactNode, useEffect } from "react";
import { cx } from "./class-names.ts";

export function Page({
  title,
  lead,
  actions,
  children,
  wide = false,
}: {
  readonly title: string;
  /** One sentence that says what the page is for. */
  readonly lead?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  /** For lists and editors that use the whole width. */
  readonly wide?: boolean;
}) {
  useEffect(() => {
    document.title = `${title} · Ostiary`;
  }, [title]);
  return (
    <div
      className={cx(
        "mx-auto flex min-h-full w-full flex-col gap-4 p-4 md:p-6",
        !wide && "max-w-6xl",
      )}
    >
      <header className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
        <div className="min-w-0">
          <h1>{title}</h1>
          {lead === undefined ? null : <p className="text-muted">{lead}</p>}
        </div>
        {actions === undefined ? null : <div className="flex flex-wrap gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

export function Card({
  title,
  actions,
  children,
  className,
  flush = false,
}: {
  readonly title?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  readonly className?: string;
  /** Without padding, for tables and editors. */
  readonly flush?: boolean;
}) {
  return (
    <section className={cx("min-w-0 rounded-lg border border-line bg-surface", className)}>
      {title === undefined ? null : (
        <div className="flex flex-wrap items-center justify-between gap-2 border-b border-line px-4 py-2.5">
          <h2>{title}</h2>
          {actions}
        </div>
      )}
      <div className={flush ? "" : "p-4"}>{children}</div>
    </section>
  );
}

/** Names and values. */
export function Facts({
  rows,
}: {
  readonly rows: readonly (readonly [name: string, value: ReactNode])[];
}) {
  return (
    <dl className="grid grid-cols-[minmax(6rem,auto)_1fr] items-baseline gap-x-4 gap-y-1.5">
      {rows
        .filter(([, value]) => value !== undefined && value !== null)
        .map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-muted">{name}</dt>
            <dd className="min-w-0">{value}</dd>
          </div>
        ))}
    </dl>
  );
}
