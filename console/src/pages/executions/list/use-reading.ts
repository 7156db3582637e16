// Whether somebody reads the list: points at it, has the focus in it, or has scrolled down. Then nothing may move.
import { type FocusEvent, type UIEvent, useMemo, useRef, useState } from "react";

export function useReading() {
  const [isPointed, setPointed] = useState(false);
  const [isFocused, setFocused] = useState(false);
  const [isAway, setAway] = useState(false);
  const scroller = useRef<HTMLElement | null>(null);
  const props = useMemo(
    () => ({
      onPointerEnter: () => setPointed(true),
      onPointerLeave: () => setPointed(false),
      onFocus: () => setFocused(true),
      onBlur: ({ currentTarget, relatedTarget }: FocusEvent<HTMLElement>) =>
        setFocused(currentTarget.contains(relatedTarget)),
    }),
    [],
  );
  return {
    isReading: isPointed || isFocused || isAway,
    props,
    onScroll({ target }: UIEvent<HTMLElement>) {
      scroller.current = target as HTMLElement;
      setAway(scroller.current.scrollTop > 4);
    },
    /** Back to the beginning, then that. */
    toTop(then: () => void) {
      if (scroller.current) scroller.current.scrollTop = 0;
      setAway(false);
      then();
    },
  };
}
