import { Check, Copy as CopyIcon } from "lucide-react";
import { useState } from "react";
import { IconButton } from "./button.tsx";
import { notify } from "./toast.tsx";

/** Copies a text and says so. */
export function Copy({ text, label = "Copy" }: { readonly text: string; readonly label?: string }) {
  const [isDone, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    if (!(await copyText(text))) return;
    setDone(true);
    setTimeout(() => setDone(false), 1_500);
  };
  return (
    <IconButton label={label} onClick={() => void copy()}>
      {isDone ? <Check size={14} aria-hidden /> : <CopyIcon size={14} aria-hidden />}
    </IconButton>
  );
}

/** False, and said so, where the browser does not allow it (pages over plain http to another machine). */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    notify("The browser does not let this page copy", {
      detail: "Select the text and copy it by hand, or open the console over https.",
    });
    return false;
  }
}
