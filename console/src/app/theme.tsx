import { Monitor, Moon, Sun } from "lucide-react";
import { useState } from "react";
import { IconButton } from "../ui/button.tsx";

type Theme = "system" | "light" | "dark";
const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const ICONS = { system: Monitor, light: Sun, dark: Moon };
const KEY = "ostiary.theme";

const stored = (): Theme => {
  const value = localStorage.getItem(KEY);
  return value === "light" || value === "dark" ? value : "system";
};

/** Light, dark, or as the system has it. `public/theme.js` applies the choice before the first paint. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState<Theme>(stored);
  const choose = (next: Theme): void => {
    setTheme(next);
    if (next === "system") {
      localStorage.removeItem(KEY);
      delete document.documentElement.dataset["theme"];
    } else {
      localStorage.setItem(KEY, next);
      document.documentElement.dataset["theme"] = next;
    }
  };
  const Icon = ICONS[theme];
  return (
    <IconButton
      label={`Theme: ${theme}. Switch to ${NEXT[theme]}`}
      onClick={() => choose(NEXT[theme])}
    >
      <Icon size={16} aria-hidden />
    </IconButton>
  );
}
