// Secrets behind a name that tells: `password=…`, `"api_key": "…"`, `Authorization: Bearer …`, `?sig=…`, `<token>…`.
import { isPlaceholder, looksChosen, looksMade } from "./look.ts";
import { matchAt, type Detector, type Found, type Span } from "./scan.ts";
import { afterQuote, lineAt, toItsEnd, untilTag, valueAt, wholeLineAt, wordAt } from "./values.ts";

type Look = (value: string) => boolean;
type ValueAt = (text: string, at: number) => Span | null;

/** The name alone decides: anything but a placeholder is one. */
const EXACT = String.raw`(?:secret[_-]?access|account|shared[_-]?access)[_-]?key|client[_-]?secret|(?<![A-Za-z0-9])_(?:authToken|auth|password)`;
/** Values that machines make. A cursor is called a token, too, and whoever reads a list needs it. */
const MADE = String.raw`(?<!(?:next|page|continuation|continue|sync|resume|delta|cursor|marker)[_-]?)token|(?:api|access|secret|private|auth|encryption|signing|master|shared|service|license|storage|session|client|subscription|webhook|app|admin|deploy|ssh|aes|hmac|jwt)[_.-]?key|credentials?|jwt|otp`;
/** Values that people choose. */
const CHOSEN = String.raw`pass(?:word|wd|phrase|code)|(?:(?<![A-Za-z])|(?<=db|user|admin|root|smtp|mail|ftp|sql))pass|pwd|secret`;
const WORDS =
  "token api access secret private auth encryption signing master shared service license storage session client subscription webhook app admin deploy ssh aes hmac jwt credential otp account _auth _password pass pwd";
/** What may stand between a name and its value, quotes of JSON inside JSON included. */
const IS = String.raw`(?:\\{0,3}["'\x60\]]){0,2}\s{0,8}(?::=|=>|={1,3}|:)\s{0,8}`;

const NAME = new RegExp(
  String.raw`(?:(${EXACT})|(${MADE})|(${CHOSEN}))(?:${IS}|(\s{1,4}(?:(is):?\s{1,4})?)|(>))`,
  "iy",
);
const BEHIND_DASHES = /(?<=(?<![\w-])--?[a-z0-9-]{0,40})/iy;
const BEHIND_BRACKET = /(?<=<[\w:.-]{0,60})/y;

const looksGiven: Look = (value) => value.trim().length >= 6 && !isPlaceholder(value);
const looksLong: Look = (value) => looksMade(value, 16);
const anything: Look = () => true;

/** Adds the value at a place, if it looks like one. What lies in a value that was found already is not looked at again. */
function take(text: string, start: number, found: Found, at: ValueAt, look: Look): void {
  const last = found.spans.at(-1);
  if (last && start < last.end) return;
  const span = at(text, start);
  if (!span || !look(text.slice(span.start, span.end))) return;
  found.spans.push(at === valueAt || at === wordAt ? toItsEnd(text, span) : span);
}

/** `name = value`, `--name value`, `<name>value<`, and `the password is value`. */
const assigned: Detector = {
  words: WORDS.split(" "),
  detect(text, place, found) {
    const match = matchAt(NAME, text, place);
    if (!match) return;
    const [all, exact, made, chosen, blank, is, bracket] = match;
    if (
      is !== undefined
        ? !/^pass/i.test(chosen ?? "")
        : blank !== undefined && !matchAt(BEHIND_DASHES, text, place)
    )
      return;
    if (bracket !== undefined && !matchAt(BEHIND_BRACKET, text, place)) return;
    const look =
      exact !== undefined
        ? looksGiven
        : made !== undefined
          ? (value: string) => looksMade(value)
          : looksChosen;
    take(text, place + all.length, found, bracket === undefined ? valueAt : untilTag, look);
  },
};

/** The pattern ends where the value begins. */
function behind(
  words: readonly string[],
  pattern: RegExp,
  look: Look,
  at: ValueAt = wordAt,
): Detector {
  return {
    words,
    detect(text, place, found) {
      const match = matchAt(pattern, text, place);
      if (match) take(text, place + match[0].length, found, at, look);
    },
  };
}

const HEADER = new RegExp(`authorization${IS}`, "iy");
const SCHEME =
  /(?:bearer|basic|token|api-?key|key|negotiate|ntlm|digest|hawk|oauth|aws4-hmac-sha256|mac|signature)\s{1,4}/iy;
const WITH_FIELDS = /^(?:digest|hawk|oauth|aws4|mac|signature)/i;

/** A header: the scheme stays, what comes behind it goes. */
const authorization: Detector = {
  words: ["authorization"],
  detect(text, place, found) {
    const match = matchAt(HEADER, text, place);
    if (!match) return;
    const start = afterQuote(text, place + match[0].length);
    const scheme = matchAt(SCHEME, text, start)?.[0] ?? "";
    // Fields of such a header are in quotes themselves.
    if (WITH_FIELDS.test(scheme))
      take(text, start + scheme.length, found, wholeLineAt, (value) => /\w{1,40}=/.test(value));
    else
      take(
        text,
        start + scheme.length,
        found,
        wordAt,
        (value) => looksMade(value, scheme ? 6 : 8) || isUserAndPassword(value),
      );
  },
};

function isUserAndPassword(value: string): boolean {
  if (!/^[A-Za-z0-9+/]{8,}={0,2}$/.test(value)) return false;
  return /^[\x20-\x7e\xa0-\xff]*:[\x20-\x7e\xa0-\xff]*$/.test(
    Buffer.from(value, "base64").toString("latin1"),
  );
}

export const NAMED: readonly Detector[] = [
  assigned,
  authorization,
  // `OPENAI_KEY` is a variable with a secret; `cache_key` is the name of something.
  behind(["_key"], new RegExp(`(?<=[A-Z0-9])_KEY${IS}`, "y"), (value) => looksMade(value), valueAt),
  behind(
    ["key", "code", "sig", "auth", "ticket", "sas", "jwt", "assertion", "x-amz", "x-goog"],
    /(?<=[?&;])(?:key|code|sig|signature|auth|ticket|sas|jwt|assertion|x-(?:amz|goog)-signature)=/iy,
    looksLong,
  ),
  // The console's one-time link.
  behind(["?t=", "&t="], /[?&]t=/y, (value) => /^[\w-]{43}$/.test(value)),
  behind(
    ["cookie"],
    new RegExp(`(?:(?<![A-Za-z])|(?<=set-))cookie${IS}`, "iy"),
    (value) => /^[\w.!#$%&'*+^|~-]{1,200}=[^\s;]{4}/.test(value),
    lineAt,
  ),
  behind(["bearer"], /\bbearer\s{1,4}(?=[\w.~+/-]{8})/iy, (value) => looksMade(value)),
  behind(["basic"], /\bbasic\s{1,4}(?=[A-Za-z0-9+/]{8})/iy, isUserAndPassword),
  behind(["login"], /\blogin\s{1,4}\S{1,200}\s{1,4}password\s{1,4}/iy, looksGiven),
  behind(
    ["-u ", "-u=", "--user"],
    /(?<=\bcurl\b[^\n]{0,400}\s)(?:-u|--user)[ =]{1,4}["']?[^\s:"']{1,200}:/y,
    (value) => looksGiven(value) && !/^\d+$/.test(value),
  ),
  behind(
    ["mnemonic", "seed", "recovery", "backup"],
    /(?:mnemonic|(?:seed|recovery|backup)[ _-]?phrase)\W{1,8}(?=[a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11})/iy,
    anything,
    lineAt,
  ),
  behind(
    ["aws", "azure", "arm"],
    /\b(?:aws[_-]?account(?:[_-]?id)?|(?:azure|arm)[_-]?(?:tenant|client|subscription)[_-]?id)["']?\s{0,4}(?::=|=>|[:=])\s{0,4}["']?(?=\d{4}-?\d{4}-?\d{4}\b|[0-9a-f]{8}-[0-9a-f-]{27})/iy,
    anything,
  ),
];
