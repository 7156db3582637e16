// Categories with how many tools each has; a menu on wide screens, a choice within the filters on narrow ones.
import { Link } from "@tanstack/react-router";
import { cx } from "../../ui/class-names.ts";
import type { CatalogueSearch, CatalogueTool } from "./search.ts";

export function categoriesOf(
  all: readonly CatalogueTool[],
): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const { category } of all) counts.set(category, (counts.get(category) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
}

export function Categories({
  all,
  search,
}: {
  readonly all: readonly CatalogueTool[];
  readonly search: CatalogueSearch;
}) {
  return (
    <nav aria-label="Categories" className="max-2xl:hidden">
      <ul className="flex flex-col gap-0.5">
        <Entry label="all" count={all.length} isCurrent={search.category === undefined} />
        {categoriesOf(all).map(([category, count]) => (
          <Entry
            key={category}
            category={category}
            label={category}
            count={count}
            isCurrent={search.category === category}
          />
        ))}
      </ul>
    </nav>
  );
}

function Entry({
  category,
  label,
  count,
  isCurrent,
}: {
  readonly category?: string;
  readonly label: string;
  readonly count: number;
  readonly isCurrent: boolean;
}) {
  return (
    <li>
      <Link
        from="/tools"
        to="."
        search={(now: CatalogueSearch) => ({ ...now, category })}
        aria-current={isCurrent || undefined}
        className={cx(
          "flex min-h-7 items-center justify-between rounded-md px-2 text-[13px] text-text no-underline hover:bg-raised",
          isCurrent && "bg-accent-soft font-medium",
        )}
      >
        {label} <span className="text-xs text-muted tabular-nums">{count}</span>
      </Link>
    </li>
  );
}
