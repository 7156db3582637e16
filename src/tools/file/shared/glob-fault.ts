// What is wrong with a file name pattern of a caller.

/** Null when it can be used. `at` counts characters from 1. */
export function globFault(
  pattern: string,
): { readonly at: number; readonly message: string } | null {
  if (/\p{Cc}/u.test(pattern))
    return { at: pattern.search(/\p{Cc}/u) + 1, message: "a pattern holds no control characters" };
  if (pattern.startsWith("/"))
    return { at: 1, message: "a pattern starts below the directory, not with /" };
  if (pattern.split("/").includes(".."))
    return { at: pattern.indexOf("..") + 1, message: "a pattern does not lead up with .." };
  const open: { char: string; at: number }[] = [];
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at];
    if (char === "\\") at++;
    else if (char === "[") {
      const end = pattern.indexOf("]", at + 2);
      if (end < 0) return { at: at + 1, message: "[ is not closed" };
      at = end;
    } else if (char === "{") open.push({ char, at });
    else if (char === "}" && !open.pop()) return { at: at + 1, message: "} was not opened" };
  }
  const left = open.pop();
  return left ? { at: left.at + 1, message: "{ is not closed" } : null;
}
