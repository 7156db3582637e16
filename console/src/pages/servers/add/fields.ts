// What people type into the forms for new servers, as the server takes it.

/** A command line as a shell would split it; no variables, no operators. Null: a quote is not closed. */
export function splitCommand(line: string): string[] | null {
  const words: string[] = [];
  let word = "";
  let isOpen = false;
  let quote = "";
  for (let at = 0; at < line.length; at += 1) {
    const c = line[at] ?? "";
    if (quote !== "") {
      if (c === quote) quote = "";
      else word += c;
    } else if (c === "'" || c === '"') {
      quote = c;
      isOpen = true;
    } else if (/\s/.test(c)) {
      if (isOpen || word !== "") words.push(word);
      word = "";
      isOpen = false;
    } else word += c;
  }
  if (quote !== "") return null;
  if (isOpen || word !== "") words.push(word);
  return words;
}

/** Lines of `NAME: value` or `NAME=value`. */
export function readPairs(text: string, separator: ":" | "="): Record<string, string> {
  const pairs = linesOf(text).map((line) => {
    const at = line.indexOf(separator);
    return at < 1
      ? ([line, ""] as const)
      : ([line.slice(0, at).trim(), line.slice(at + 1).trim()] as const);
  });
  return Object.fromEntries(pairs);
}

export const linesOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/** Lines of a folder, `:rw` behind those that may be written. */
export const readFolders = (text: string): { path: string; access: "ro" | "rw" }[] =>
  linesOf(text).map((line) =>
    line.endsWith(":rw")
      ? { path: line.slice(0, -3), access: "rw" }
      : { path: line.replace(/:ro$/, ""), access: "ro" },
  );

/** The field, or nothing where it is empty. */
export const filled = <K extends string, V extends object>(key: K, value: V): { [P in K]?: V } =>
  (Object.keys(value).length === 0 ? {} : { [key]: value }) as { [P in K]?: V };
