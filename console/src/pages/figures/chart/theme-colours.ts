// A canvas knows no custom properties: the colours are read, again when the theme changes.
import { useEffect, useState } from "react";

const NAMES = ["ok", "deny", "hold", "info", "accent", "muted", "line", "text"] as const;
type Colours = Readonly<Record<(typeof NAMES)[number], string>>;

function read(): Colours {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(
    NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]),
  ) as Colours;
}

export function useThemeColours(): Colours {
  const [colours, setColours] = useState(read);
  useEffect(() => {
    const again = (): void => setColours(read());
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", again);
    const observer = new MutationObserver(again);
    observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      system.removeEventListener("change", again);
      observer.disconnect();
    };
  }, []);
  return colours;
}
