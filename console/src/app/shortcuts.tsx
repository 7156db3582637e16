// Keys for people who do this all day. Single letters do nothing inside fields, and can be switched off altogether.
import { useEffect, useRef, useSyncExternalStore } from "react";
import { Dialog } from "../ui/dialog.tsx";
import { Check } from "../ui/field.tsx";
import { useStored } from "./stored.ts";

interface Shortcut {
  /** `e`, `Escape`, `Shift+c`, `g e` (one after the other), `Mod+k`. */
  readonly keys: string;
  readonly description: string;
  readonly run: () => void;
}

const shortcuts = new Set<Shortcut>();
const changed = new Set<() => void>();
let list: readonly Shortcut[] = [];
const OFF = "ostiary.shortcuts-off";

function publish(): void {
  list = [...shortcuts];
  for (const listener of changed) listener();
}

/** While the component is shown, these keys run that. */
export function useShortcut(
  keys: string,
  description: string,
  run: () => void,
  enabled = true,
): void {
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    if (!enabled) return undefined;
    const shortcut: Shortcut = { keys, description, run: () => latest.current() };
    shortcuts.add(shortcut);
    publish();
    return () => {
      shortcuts.delete(shortcut);
      publish();
    };
  }, [keys, description, enabled]);
}

const isOff = (): boolean => localStorage.getItem(OFF) === "true";

/** Switches single letters off; keys with Ctrl and Esc stay. */
export function ShortcutsOff() {
  const [kept, keep] = useStored(OFF);
  return (
    <Check
      label="Switch single-letter shortcuts off"
      checked={kept === "true"}
      onChange={(event) => keep(event.target.checked ? "true" : null)}
    />
  );
}

const SEQUENCE_MS = 1_200;

/** Listens once, for the whole page. */
export function listenForKeys(): () => void {
  let first = "";
  let firstAt = 0;
  const onKey = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.isComposing || event.altKey) return;
    const mod = event.ctrlKey || event.metaKey;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const shown = `${mod ? "Mod+" : ""}${event.shiftKey && /^[a-z]$/.test(key) ? "Shift+" : ""}${key}`;
    if (!mod && key !== "Escape" && (isTyping(event.target) || isOff())) return;
    if (!mod && isInDialog(event.target)) return;
    const sequence = event.timeStamp - firstAt < SEQUENCE_MS ? `${first} ${shown}` : "";
    const found = newest((one) => one.keys === sequence) ?? newest((one) => one.keys === shown);
    first = shown;
    firstAt = event.timeStamp;
    if (!found) return;
    first = "";
    event.preventDefault();
    found.run();
  };
  window.addEventListener("keydown", onKey);
  return () => window.removeEventListener("keydown", onKey);
}

/** The page opened last is asked first. */
const newest = (test: (one: Shortcut) => boolean): Shortcut | undefined => list.findLast(test);

const isInDialog = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest("[role=dialog], [role=menu]") !== null;

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName)) &&
  !(target instanceof HTMLInputElement && ["checkbox", "radio", "button"].includes(target.type));

/** The sheet that lists what works on this page. */
export function ShortcutSheet({
  open,
  onClose,
}: {
  readonly open: boolean;
  readonly onClose: () => void;
}) {
  const shown = useSyncExternalStore(
    (listener) => {
      changed.add(listener);
      return () => void changed.delete(listener);
    },
    () => list,
  );
  return (
    <Dialog open={open} onClose={onClose} title="Keyboard shortcuts">
      <table className="w-full">
        <tbody>
          {shown.map(({ keys, description }) => (
            <tr key={keys} className="border-b border-line/60">
              <td className="py-1 pr-4 whitespace-nowrap">
                {keys.split(" ").map((key, at) => (
                  <kbd key={at} className="mr-1 rounded border border-line bg-raised px-1.5 py-0.5">
                    {nameOf(key)}
                  </kbd>
                ))}
              </td>
              <td className="py-1">{description}</td>
            </tr>
          ))}
          <tr>
            <td className="py-1 pr-4 whitespace-nowrap">
              <kbd className="mr-1 rounded border border-line bg-raised px-1.5 py-0.5">j</kbd>
              <kbd className="mr-1 rounded border border-line bg-raised px-1.5 py-0.5">k</kbd>
            </td>
            <td className="py-1">
              next and previous row of a list that has the focus; Enter opens, x selects
            </td>
          </tr>
        </tbody>
      </table>
      <div className="mt-3">
        <ShortcutsOff />
      </div>
    </Dialog>
  );
}

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);
const nameOf = (key: string): string =>
  key.replace("Mod+", isMac ? "⌘" : "Ctrl ").replace("Shift+", "⇧");
