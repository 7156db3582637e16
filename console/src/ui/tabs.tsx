import { Tabs as Base } from "@base-ui/react/tabs";
import { type ReactNode, useEffect, useRef } from "react";

export interface Tab {
  readonly id: string;
  readonly label: ReactNode;
  readonly content: ReactNode;
}

/** Views of one thing. Controlled with `value` and `onChange`, so that the choice can live in the address. */
export function Tabs({
  tabs,
  value,
  onChange,
  label,
}: {
  readonly tabs: readonly Tab[];
  readonly value: string;
  readonly onChange: (id: string) => void;
  readonly label: string;
}) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => showActive(list.current), [value]);
  return (
    <Base.Root value={value} onValueChange={(next) => onChange(String(next))}>
      <Base.List
        ref={list}
        aria-label={label}
        className="flex gap-1 overflow-x-auto border-b border-line"
      >
        {tabs.map((tab) => (
          <Base.Tab
            key={tab.id}
            value={tab.id}
            className="-mb-px h-8.5 border-b-2 border-transparent px-3 whitespace-nowrap text-muted hover:text-text data-[active]:border-accent data-[active]:font-medium data-[active]:text-text"
          >
            {tab.label}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map((tab) => (
        <Base.Panel key={tab.id} value={tab.id} className="pt-3">
          {tab.content}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}

/** On a narrow screen the tabs scroll sideways: the chosen one must be seen. */
function showActive(list: HTMLElement | null): void {
  const active = list?.querySelector<HTMLElement>("[data-active]");
  if (!list || !active) return;
  const [all, one] = [list.getBoundingClientRect(), active.getBoundingClientRect()];
  if (one.left < all.left) list.scrollLeft += one.left - all.left;
  if (one.right > all.right) list.scrollLeft += one.right - all.right;
}
