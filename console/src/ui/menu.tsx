import { Menu as Base } from "@base-ui/react/menu";
import type { ReactElement, ReactNode } from "react";

export interface MenuItem {
  readonly label: ReactNode;
  readonly onSelect: () => void;
  readonly disabled?: boolean;
  readonly danger?: boolean;
}

/** Actions behind one button. */
export function Menu({
  trigger,
  items,
}: {
  readonly trigger: ReactElement;
  readonly items: readonly MenuItem[];
}) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger as ReactElement<Record<string, unknown>>} />
      <Base.Portal>
        <Base.Positioner sideOffset={4} className="z-50">
          <Base.Popup className="min-w-44 rounded-md border border-line bg-surface p-1 text-text shadow-lg">
            {items.map((item, at) => (
              <Base.Item
                key={at}
                disabled={item.disabled ?? false}
                onClick={item.onSelect}
                className={`flex min-h-7 items-center gap-2 rounded px-2 data-[disabled]:opacity-50 data-[highlighted]:bg-raised ${item.danger ? "text-deny" : ""}`}
              >
                {item.label}
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
