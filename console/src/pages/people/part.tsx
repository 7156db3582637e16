import type { ReactNode } from "react";

/** A part of a detail. */
export function Part({
  title,
  actions,
  children,
}: {
  readonly title: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <section className="flex flex-col gap-2 border-t border-line pt-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h3>{title}</h3>
        {actions}
      </div>
      {children}
    </section>
  );
}
