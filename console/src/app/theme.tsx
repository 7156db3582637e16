import { Monitor, Moon, Sun } from "lucide-react";
import { IconButton } from "../ui/button.tsx";
import { useStored } from "./stored.ts";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const ICONS = { system: Monitor, light: Sun, dark: Moon };

/** The choice and what changes it. `public/theme.js` applies it before the first paint. */
export function useTheme(): readonly [Theme, (next: Theme) => void] {
  const [kept, keep] = useStored("ostiary.theme");
  const theme = THEMES.find((one) => one === kept) ?? "system";
  const choose = (next: Theme): void => {
    keep(next === "system" ? null : next);
    if (next === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = next;
  };
  return [theme, choose];
}

/** Light, dark, or as the system has it. */
export function ThemeSwitch() {
  const [theme, choose] = useTheme();
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
