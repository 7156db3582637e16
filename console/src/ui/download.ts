/** Saves a text as a file on the person's machine. */
export function download(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken it once the click is handled.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
