// A question or form above the page. Focus stays inside, Esc closes.
import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { type ReactNode, useRef, useState } from "react";
import { Button, IconButton } from "./button.tsx";
import { cx } from "./class-names.ts";

export function Dialog({
  open,
  onClose,
  title,
  lead,
  children,
  size = "medium",
}: {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly lead?: ReactNode;
  readonly children: ReactNode;
  readonly size?: "medium" | "large";
}) {
  const popup = useRef<HTMLDivElement>(null);
  return (
    <Base.Root open={open} onOpenChange={(next) => (next ? undefined : onClose())}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-black/40" />
        <Base.Popup
          ref={popup}
          initialFocus={() => firstField(popup.current)}
          className={cx(
            "fixed top-[5vh] left-1/2 z-50 flex max-h-[90vh] w-[calc(100vw-2rem)] -translate-x-1/2 flex-col rounded-lg border border-line bg-surface text-text shadow-xl",
            size === "large" ? "max-w-4xl" : "max-w-lg",
          )}
        >
          <div className="flex items-start justify-between gap-3 border-b border-line px-4 py-3">
            <div>
              <Base.Title className="text-[15px] font-semibold">{title}</Base.Title>
              {lead === undefined ? null : (
                <Base.Description className="text-muted">{lead}</Base.Description>
              )}
            </div>
            <Base.Close
              render={
                <IconButton label="Close">
                  <X size={16} aria-hidden />
                </IconButton>
              }
            />
          </div>
          <div className="min-h-0 overflow-y-auto p-4">{children}</div>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

/**
 * Where people begin to type. Else the dialog itself: the hint of a focused button would take the first Esc for itself.
 */
const firstField = (popup: HTMLElement | null): HTMLElement | null =>
  popup?.querySelector<HTMLElement>("input:not([type=hidden]), select, textarea") ?? popup;

/** A button that asks before it acts. */
export function ConfirmButton({
  label,
  question,
  explain,
  confirm,
  onConfirm,
  busy,
  small = false,
  danger = true,
  children,
}: {
  readonly label: string;
  readonly question: string;
  /** What happens then, and whether it can be undone. */
  readonly explain: ReactNode;
  readonly confirm: string;
  readonly onConfirm: () => void;
  readonly busy?: boolean;
  readonly small?: boolean;
  readonly danger?: boolean;
  /** Fields of the question. */
  readonly children?: ReactNode;
}) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button
        small={small}
        look={danger ? "danger" : "secondary"}
        busy={busy ?? false}
        onClick={() => setOpen(true)}
      >
        {label}
      </Button>
      <Dialog open={isOpen} onClose={() => setOpen(false)} title={question}>
        <div className="flex flex-col gap-3">
          <div className="text-muted">{explain}</div>
          {children}
          <div className="flex justify-end gap-2">
            <Button onClick={() => setOpen(false)}>Keep it as it is</Button>
            <Button
              look={danger ? "danger" : "primary"}
              onClick={() => {
                setOpen(false);
                onConfirm();
              }}
            >
              {confirm}
            </Button>
          </div>
        </div>
      </Dialog>
    </>
  );
}
