// Characters of a definition that do not show, turn the text round, steer a terminal, or carry something encoded.
import type { Finding } from "../../../storage/store/store.ts";
import { asRead, MIXED, reveal, VARIATION, withoutEmoji } from "./hidden.ts";
import { dangerIn } from "./words.ts";
import { excerptOf, type DefinitionText } from "./definition-text.ts";

type Rule = readonly [
  kind: Finding["kind"],
  severity: Finding["severity"],
  pattern: RegExp,
  message: string,
];

// eslint-disable-next-line no-control-regex -- it is searched for
const ESCAPE = /[\u001b\u009b]/u;

/** The first that matches a position reports it; one finding per rule and text. */
const RULES: readonly Rule[] = [
  ["invisible", "danger", /[\u{e0000}-\u{e007f}]+/u, "tag characters: text that only a model sees"],
  ["invisible", "danger", /[\u{e0100}-\u{e01ef}]+/u, "variation selectors that carry hidden bytes"],
  [
    "invisible",
    "danger",
    /[\u200b\u2060-\u2064\u206a-\u206f\u180e\u115f\u1160\u3164\uffa0]/u,
    "characters without width",
  ],
  [
    "bidi",
    "danger",
    /[\u202a-\u202e\u2066-\u2069]/u,
    "characters that turn the reading direction round",
  ],
  ["control", "danger", ESCAPE, "escape sequences that steer a terminal"],
  ["bidi", "warning", /[\u200e\u200f\u061c]/u, "marks of reading direction"],
  [
    "invisible",
    "warning",
    /\u200c|\u200d|\ufeff|\u00ad|\u034f|\u17b4|\u17b5|\u2800/u,
    "characters that do not show",
  ],
  ["invisible", "warning", VARIATION, "variation selectors that select nothing"],
  ["control", "warning", /(?![\t\n\r])[\p{Cc}\u2028\u2029]/u, "control characters"],
  ["control", "warning", /[\p{Co}\p{Cs}\ufff9-\uffff]/u, "characters that mean nothing to anybody"],
  ["encoded", "warning", MIXED, "a word made of letters of several alphabets that look alike"],
];

/** Keywords whose texts are patterns, addresses of drafts or data by their nature. */
const UNREAD = /\/(?:pattern|\$schema|\$id|\$ref|contentEncoding)$/;
const BLOB = /(?:data:[\w/+.-]*;base64,)?[A-Za-z0-9+/_-]{40,}={0,2}/g;
const HEX =
  /(?:0x)?(?:[0-9a-f]{2}){20,}|(?:\\x[0-9a-f]{2}){6,}|(?:%[0-9a-f]{2}){8,}|(?:&#x?[0-9a-f]+;){4,}/gi;

export function findingsInCharacters(part: DefinitionText): Finding[] {
  const { path, text } = part;
  const searched = withoutEmoji(text);
  const found: Finding[] = [];
  for (const [kind, severity, pattern, message] of RULES) {
    const match = new RegExp(pattern, "u").exec(searched);
    if (!match) continue;
    const count = searched.match(new RegExp(pattern, "gu"))?.length ?? 1;
    const hidden = kind === "invisible" ? smuggled(match[0]) : null;
    found.push({
      kind,
      severity,
      path,
      message: hidden === null ? `${message} (${count})` : `${message}: "${hidden}"`,
      excerpt: excerptOf(searched, match.index, match[0].length),
    });
  }
  return UNREAD.test(path) ? found : [...found, ...encodedIn(part)];
}

/** Tag characters are ASCII in disguise. */
function smuggled(characters: string): string | null {
  const text = asRead(characters);
  return /^[\x20-\x7e]+$/.test(text) ? text.slice(0, 200) : null;
}

function encodedIn({ path, text }: DefinitionText): Finding[] {
  const found: Finding[] = [];
  for (const match of text.matchAll(BLOB)) {
    const inside = decoded(match[0]);
    if (inside === null) continue;
    const danger = dangerIn(inside);
    found.push({
      kind: "encoded",
      severity: danger === null ? "warning" : "danger",
      path,
      message:
        danger === null
          ? `something encoded in base64, ${match[0].length} characters`
          : `encoded in base64: ${danger}`,
      excerpt: `${match[0].slice(0, 40)}… = ${reveal(inside.slice(0, 120))}`,
    });
  }
  const hex = new RegExp(HEX, "i").exec(text);
  if (hex)
    found.push({
      kind: "encoded",
      severity: "warning",
      path,
      message: `something encoded in hexadecimal, ${hex[0].length} characters`,
      excerpt: excerptOf(text, hex.index, 40),
    });
  return found.slice(0, 5);
}

/** A long word is no blob: that has capitals, small letters and digits or padding, or it decodes to text. */
function decoded(run: string): string | null {
  const bare = run.replace(/^data:[^,]*,/, "");
  const text = Buffer.from(bare, "base64").toString("utf8");
  const isText = /^[\t\n\r\x20-\x7e]+$/.test(text) && /\s/.test(text);
  const looksMixed =
    /[A-Z]/.test(bare) &&
    /[a-z]/.test(bare) &&
    /[0-9]/.test(bare) &&
    !/[_/-].*[_/-].*[_/-]/.test(bare);
  return isText || looksMixed || run.startsWith("data:") ? text : null;
}
