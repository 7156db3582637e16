// Secrets behind a name that marks them: `password=…`, `"api_key": "…"`, `Authorization: Bearer …`, `?sig=…`,
// `<token>…`.
import {
  isPlaceholder,
  JUDGED,
  looksChosen,
  looksGrouped,
  looksLikeCode,
  looksMade,
} from "./appearance.ts";
import { see, seenTo, matchAt, type Detector, type ScanState, type Span } from "./scan.ts";
import { afterQuote, lineAt, untilTag, valueAt, wholeLineAt, wordAt } from "./values.ts";

type Look = (value: string) => boolean;
type ValueAt = (text: string, at: number, found: ScanState) => Span | null;

/** The name alone decides: anything but a placeholder is one. */
const EXACT = String.raw`(?:secret[_-]?access|account|shared[_-]?access)[_-]?keys?|client[_-]?secret|(?<![A-Za-z0-9])_(?:authToken|auth|password)`;
/** Values that machines make. A cursor is called a token, too, and clients need it to read a list. */
const MADE = String.raw`(?<!(?:next|page|continuation|continue|sync|resume|delta|cursor|marker)[_-]?)tokens?|bearer|(?:api|access|secret|private|auth|encryption|signing|master|shared|service|storage|session|client|subscription|webhook|app|admin|deploy|ssh|aes|hmac|jwt)[_.-]?keys?|credentials?|creds|jwts?|otp`;
const GROUPED = String.raw`(?:licen[sc]e|activation|product|recovery)[_.-]?(?:keys?|codes?)`;
/** Values that people choose. */
const CHOSEN = String.raw`pass[_-]?(?:word|wd|phrase|code)s?|(?:(?<![A-Za-z])|(?<=db|user|admin|root|smtp|mail|ftp|sql|store|key))pass|pwd|secrets?`;
const WORDS =
  "token bearer api access secret private auth encryption signing master shared service license licence activation product recovery storage session client subscription webhook app admin deploy ssh aes hmac jwt credential creds otp account _auth _password pass pwd";
/** What may stand between a name and its value, quotes of JSON inside JSON included. */
const IS = String.raw`(?:\\{0,3}["'\x60\]]){0,2}\s{0,8}(?::=|=>|={1,3}|:)\s{0,8}`;

const NAME = new RegExp(
  String.raw`(?:(${EXACT})|(${GROUPED})|(${MADE})|(${CHOSEN}))(?:${IS}|(\s{1,4}(?:(is):?\s{1,4})?)|(>))`,
  "iy",
);
const BEHIND_DASHES = /(?<=(?<![\w-])--?[a-z0-9-]{0,40})/iy;
const BEHIND_BRACKET = /(?<=<[\w:.-]{0,60})/y;
/** `PGPASSWORD=…`, `--password=…`: nobody writes prose so. */
const VARIABLE = /^(?:[A-Z_]{3,}|[a-z_-]{4,})=$/;
const BEHIND_CAPITALS = /(?<=(?<![A-Za-z0-9_])[A-Z0-9_]{0,40})/y;

const looksGiven: Look = (value) => value.trim().length >= 6 && !isPlaceholder(value);
const looksLong: Look = (value) => looksMade(value, 16);
const anything: Look = () => true;
/** A word that is no reference, no call and no other placeholder. */
const looksSet: Look = (value) =>
  value.length >= 4 &&
  /^[^\s/\\$(){}[\]<>=%~.,:]+$/.test(value) &&
  !isPlaceholder(value) &&
  !/^(?:pass(?:word|wd)?|pwd|secrets?|string|text|value)$/i.test(value);

/** So many names may stand in one word without a secret behind them; with more the word itself is masked. */
const MOST_JUDGED = 8;

/**
 * Adds the value at a place, if it looks like one. What lies in a value that was found already is not looked at
 * again.
 */
export function take(text: string, start: number, found: ScanState, at: ValueAt, look: Look): void {
  const last = found.spans.at(-1);
  if (last && start < last.end) return;
  const span = at(text, start, found);
  if (!span) return;
  found.judged = span.end === found.judgedEnd ? found.judged + 1 : 0;
  found.judgedEnd = span.end;
  const judged = text.slice(span.start, Math.min(span.end, span.start + JUDGED));
  if (found.judged >= MOST_JUDGED || look(judged)) found.spans.push(span);
}

/** `name = value`, `--name value`, `<name>value<`, and `the password is value`. */
const assigned: Detector = {
  words: WORDS.split(" "),
  detect(text, place, found) {
    const match = matchAt(NAME, text, place);
    if (!match) return;
    const [all, exact, grouped, made, chosen, blank, is, bracket] = match;
    const isFlag = (): boolean => matchAt(BEHIND_DASHES, text, place) !== null;
    if (is !== undefined) {
      if (!/^pass/i.test(chosen ?? "")) return;
    } else if (blank !== undefined && !isFlag()) return;
    if (bracket !== undefined && !matchAt(BEHIND_BRACKET, text, place)) return;
    let look: Look = looksChosen;
    if (exact !== undefined) look = looksGiven;
    else if (grouped !== undefined) look = looksGrouped;
    else if (made !== undefined) look = (value) => looksMade(value);
    else if (VARIABLE.test(all) && isSetting(text, place, all))
      look = (value) => looksChosen(value) || looksSet(value);
    take(text, place + all.length, found, bracket === undefined ? valueAt : untilTag, look);
  },
};

/** A variable of the environment or an option of a program, rather than a name in source code. */
const isSetting = (text: string, place: number, all: string): boolean =>
  matchAt(/[A-Z]/.test(all) ? BEHIND_CAPITALS : BEHIND_DASHES, text, place) !== null;

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
    const from = start + scheme.length;
    // Fields of such a header are in quotes themselves.
    if (WITH_FIELDS.test(scheme)) takeLine(text, from, found, authorization, wholeLineAt, /\w=/);
    else
      take(
        text,
        from,
        found,
        wordAt,
        (value) => looksMade(value, scheme ? 6 : 8) || isUserAndPassword(value),
      );
  },
};

/** The rest of a line, if the sign of a secret stands anywhere in it. One line is searched once. */
function takeLine(
  text: string,
  start: number,
  found: ScanState,
  memory: object,
  at: ValueAt,
  sign: RegExp,
): void {
  const last = found.spans.at(-1);
  if (start < seenTo(found, memory) || (last && start < last.end)) return;
  const span = at(text, start, found);
  if (!span) return;
  see(found, memory, span.end);
  if (sign.test(text.slice(span.start, span.end))) found.spans.push(span);
}

const COOKIE = new RegExp(`(?:(?<![A-Za-z])|(?<=set-))cookies?${IS}`, "iy");
/** Any of its pairs with a value that is long enough. */
const PAIR = /(?<![\w.!#$%&'*+^|~-])[\w.!#$%&'*+^|~-]{1,200}=[^\s;]{4}/;

const cookie: Detector = {
  words: ["cookie"],
  detect(text, place, found) {
    const match = matchAt(COOKIE, text, place);
    if (match) takeLine(text, place + match[0].length, found, cookie, lineAt, PAIR);
  },
};

function isUserAndPassword(value: string): boolean {
  if (!/^[A-Za-z0-9+/]{8,}={0,2}$/.test(value)) return false;
  return /^[\x20-\x7e\xa0-\xff]*:[\x20-\x7e\xa0-\xff]*$/.test(
    Buffer.from(value, "base64").toString("latin1"),
  );
}

/** The lines of a key as PuTTY writes them. */
const keyLines: ValueAt = (text, start) => {
  const match = matchAt(/[A-Za-z0-9+/=\s]{16,20000}/y, text, start);
  return match ? { start, end: start + match[0].length } : null;
};

export const NAMED: readonly Detector[] = [
  assigned,
  authorization,
  cookie,
  // `OPENAI_KEY` is a variable with a secret; `cache_key` is the name of something.
  behind(
    ["_key"],
    new RegExp(`(?<=[A-Z0-9])_KEYS?${IS}`, "y"),
    (value) => looksMade(value),
    valueAt,
  ),
  behind(
    ["pin", "otp", "totp", "cvv", "cvc", "mfa"],
    new RegExp(
      String.raw`(?<![A-Za-z])(?:pin(?:[ _-]?code)?s?|t?otps?|cvv2?|cvc2?|mfa[_-]?code)(?:${IS}|\s{1,4}is:?\s{1,4}|(?<=--[a-z-]{1,20})\s)`,
      "iy",
    ),
    looksLikeCode,
    valueAt,
  ),
  behind(
    ["key", "code", "sig", "auth", "ticket", "sas", "jwt", "assertion", "x-amz", "x-goog"],
    /(?<=[?&;])(?:key|code|sig|signature|auth|ticket|sas|jwt|assertion|x-(?:amz|goog)-signature)=/iy,
    looksLong,
  ),
  // The console's one-time link.
  behind(["?t=", "&t="], /[?&]t=/y, (value) => /^[\w-]{43}$/.test(value)),
  behind(["bearer"], /\bbearer\s{1,4}(?=[\w.~+/-]{8})/iy, (value) => looksMade(value)),
  behind(["basic"], /\bbasic\s{1,4}(?=[A-Za-z0-9+/]{8})/iy, isUserAndPassword),
  behind(["login"], /\blogin\s{1,4}\S{1,200}\s{1,4}password\s{1,4}/iy, looksGiven),
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
  behind(["private"], /Private-Lines: \d{1,3}\s{1,4}/y, anything, keyLines),
];
