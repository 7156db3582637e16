// A pattern of our engine (RE2) in the syntax of ripgrep's. Classes such as \w are ASCII there, so they are written
// out.

const CLASSES: Readonly<Record<string, string>> = {
  d: "0-9",
  D: "^0-9",
  w: "0-9A-Za-z_",
  W: "^0-9A-Za-z_",
  s: "\\t\\n\\f\\r ",
  S: "^\\t\\n\\f\\r ",
};
/** Escapes that mean the same in both. */
const SAME = /^(?:[^A-Za-z0-9]|[tnrfv]|x[0-9A-Fa-f]{2}|x\{[0-9A-Fa-f]{1,6}\})/;
const POSIX_CLASS = /^\[:\^?[a-z]+:\]/;

/** Null where it is not certain that both engines read it the same way. */
export function rustPattern(pattern: string): string | null {
  let out = "";
  let inClass = false;
  for (let at = 0; at < pattern.length;) {
    const rest = pattern.slice(at);
    const char = pattern.charAt(at);
    if (char === "\\") {
      const name = pattern.charAt(at + 1);
      const same = SAME.exec(rest.slice(1))?.[0];
      if (Object.hasOwn(CLASSES, name)) out += `[${CLASSES[name]}]`;
      else if ((name === "b" || name === "B") && !inClass) out += `(?-u:\\${name})`;
      else if (same !== undefined) out += escaped(same);
      else return null;
      at += same !== undefined && !Object.hasOwn(CLASSES, name) ? 1 + same.length : 2;
      continue;
    }
    const posix = inClass ? POSIX_CLASS.exec(rest)?.[0] : undefined;
    if (posix !== undefined) {
      out += posix;
      at += posix.length;
      continue;
    }
    if (inClass && "[&~".includes(char)) out += `\\${char}`;
    else if (
      !inClass &&
      char === "(" &&
      rest.startsWith("(?") &&
      !/^\(\?(?::|[ims]+\)|[ims]+:)/.test(rest)
    )
      return null;
    else out += char;
    if (char === "[" && !inClass) {
      inClass = true;
      // A bracket right at the start is a plain one in both.
      const first = /^\[\^?\]/.exec(rest)?.[0];
      if (first !== undefined) {
        out += first.slice(1, -1) + "\\]";
        at += first.length;
        continue;
      }
    } else if (char === "]") inClass = false;
    at++;
  }
  return out.includes("--") && /\[[^\]]*--/.test(out) ? null : out;
}

/** Punctuation may always be escaped in RE2; there only where it has a meaning. */
function escaped(text: string): string {
  if (/^[A-Za-z0-9]/.test(text)) return `\\${text}`;
  return /^[\\.+*?()|[\]{}^$#&\-~]/.test(text) ? `\\${text}` : text;
}
