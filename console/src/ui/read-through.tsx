// Content that must have been scrolled through before something can be agreed to.
import { type ReactNode, useEffect, useRef } from "react";

/** Rounding of the browser. */
const SLACK_PX = 4;

export function ReadThrough({
  label,
  onRead,
  children,
}: {
  readonly label: string;
  /** Called when its end was in view; at once where all of it fits. */
  readonly onRead: () => void;
  readonly children: ReactNode;
}) {
  const area = useRef<HTMLDivElement>(null);
  const latest = useRef(onRead);
  latest.current = onRead;
  const look = (): void => {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = area.current ?? {};
    if (clientHeight > 0 && scrollTop + clientHeight >= scrollHeight - SLACK_PX) latest.current();
  };
  useEffect(() => {
    const element = area.current;
    if (!element) return undefined;
    // Not in the first moment, in which what is inside may not have its size yet.
    const timer = setTimeout(look, 150);
    const observer = new ResizeObserver(() => setTimeout(look, 150));
    observer.observe(element);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, []);
  return (
    <div
      ref={area}
      role="region"
      aria-label={label}
      tabIndex={0}
      onScroll={look}
      className="max-h-[38vh] overflow-y-auto rounded-md border border-line p-3"
    >
      {children}
    </div>
  );
}
