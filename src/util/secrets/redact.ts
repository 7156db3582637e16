// Secrets that are recognised by their form or by the words before them, anywhere in a text.
import { isMasked } from "./mask.ts";
import { COMMANDS } from "./commands.ts";
import { isPlaceholder, JUDGED } from "./appearance.ts";
import { NAMED } from "./named.ts";
import { see, seenTo, createScanner, matchAt, type Detector, type Span } from "./scan.ts";
import { TOKENS } from "./tokens.ts";

export type { Span };

/** `scheme://user:password@host`: the password goes, the rest stays readable. Passwords may hold an `@` themselves. */
const USER_INFO = /(:\/\/)([^\s:/?#@"'<>]{0,200}):([^\s/"'<>]{1,400})@(?=[\w.[{$-])/y;
/** The same inside the query of another address. */
const ENCODED =
  /(%3A%2F%2F)([^\s&%"'<>]{0,200})%3A((?:[^\s&%"'<>]|%(?!2F|40)[0-9A-F]{2}){1,400})%40/iy;
/** `host:443?mail=a@b` has no password, but a port. */
const PORT = /^\d{1,5}[?#]/;

const address = (word: string, pattern: RegExp): Detector => ({
  words: [word],
  detect(text, at, found) {
    const [match = "", sign = "", user = "", password = ""] = matchAt(pattern, text, at) ?? [];
    if (password === "" || isPlaceholder(password) || PORT.test(password)) return;
    const start = at + match.lastIndexOf(password);
    // Some hosts take the token as the user, and a word for the password.
    if (/^x-oauth(?:-basic)?$/i.test(password))
      found.spans.push({ start: at + sign.length, end: at + sign.length + user.length });
    else found.spans.push({ start, end: start + password.length });
  },
});

/** A manifest of Kubernetes: everything below `data:` is secret, whatever it is called. */
const MANIFEST = /(?<=^[ \t]{0,20}["']?)kind["']?[ \t]{0,4}:[ \t]{0,4}["']?Secret\b/my;
const MANIFEST_DATA = /^[ \t]{0,20}["']?(?:stringD|d)ata["']?[ \t]{0,4}:/m;
const MANIFEST_VALUE =
  /^[ \t]{1,40}["']?(?!(?:name|namespace|uid|type|kind|apiVersion|resourceVersion|creationTimestamp)\b)[\w.-]{1,253}["']?[ \t]{0,4}:[ \t]{0,4}["']?([^\s"'{}[\]]{4,100000})["']?,?[ \t\r]*$/gm;
const MANIFEST_CHARS = 65_536;

const manifest: Detector = {
  words: ["kind"],
  detect(text, at, found) {
    if (!matchAt(MANIFEST, text, at)) return;
    // The half of what was read for the manifest before belongs to this one, too: nothing is read more than twice.
    if (at < seenTo(found, manifest)) return;
    see(found, manifest, at + MANIFEST_CHARS / 2);
    const near = text.slice(at, at + MANIFEST_CHARS);
    const from = near.search(MANIFEST_DATA);
    for (const { 0: match, 1: value = "", index } of from < 0
      ? []
      : near.matchAll(MANIFEST_VALUE)) {
      const start = at + index + match.lastIndexOf(value);
      if (index > from && !isPlaceholder(value.slice(0, JUDGED)))
        found.spans.push({ start, end: start + value.length });
    }
  },
};

/** Everything that is looked for in a text. */
export const DETECTORS: readonly Detector[] = [
  ...TOKENS,
  ...NAMED,
  ...COMMANDS,
  address("://", USER_INFO),
  address("%3a", ENCODED),
  manifest,
];
const scan = createScanner(DETECTORS);

/** Where the secrets of a text stand, in order and apart. What is masked already is none. */
export function findSecrets(text: string): readonly Span[] {
  const found = scan(text);
  return found.length === 0 ? found : united(text, found);
}

/** In order, overlapping ones as one, without what was masked before. */
export function united<S extends Span>(text: string, spans: readonly S[]): readonly (S | Span)[] {
  const result: (S | Span)[] = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = result.at(-1);
    if (last && span.start < last.end) {
      if (span.end > last.end) result[result.length - 1] = { start: last.start, end: span.end };
    } else result.push(span);
  }
  return result.filter(({ start, end }) => end > start && !isMasked(text.slice(start, end)));
}
