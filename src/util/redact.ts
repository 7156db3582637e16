// Secrets that can be told by their look, wherever they stand in a text. Each pattern is anchored by a fixed word, so that
// one pass over the text is linear and plain text stays as it is.
import type { Json } from "../call.ts";
import { MASK } from "./mask.ts";

/** Not in the middle of a longer word; `MY_` or a digit may stand before it. */
const START = String.raw`(?<![A-Za-z])`;
const END = String.raw`(?![A-Za-z0-9_-])`;

/** Issued tokens: a prefix that says whose it is, then enough of the token's own letters. */
const TOKENS = [
  String.raw`sk-ant-[a-z]+\d*-[\w-]{32,}`,
  String.raw`sk-(?:proj|svcacct|admin|or-v1|None)-[\w-]{20,}`,
  String.raw`sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20,}`,
  String.raw`gh[pousr]_[A-Za-z0-9]{36,}`,
  String.raw`github_pat_[A-Za-z0-9_]{36,}`,
  String.raw`gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[\w-]{20,}`,
  String.raw`gl(?:sa|c)_[A-Za-z0-9+/=_]{32,}`,
  String.raw`xox[abceoprs](?:-\d+)*-[\w-]{8,}`,
  String.raw`xoxe\.xox[bp]-\d-[A-Za-z0-9]{100,}`,
  String.raw`xapp-\d-[A-Z0-9]+-\d+-[A-Za-z0-9]{16,}`,
  String.raw`npm_[A-Za-z0-9]{36,}`,
  String.raw`pypi-AgE[\w-]{50,}`,
  String.raw`SG\.[\w-]{16,}\.[\w-]{16,}`,
  String.raw`shp(?:at|ca|pa|ss)_[A-Za-z0-9]{32,}`,
  String.raw`(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}`,
  String.raw`whsec_[A-Za-z0-9+/=]{24,}`,
  String.raw`AIza[\w-]{35}`,
  String.raw`ya29\.[\w-]{30,}`,
  String.raw`(?:dapi|dkea|dose)[0-9a-fA-F]{32}(?:-\d)?`,
  String.raw`dckr_(?:pat|oat)_[\w-]{20,}`,
  String.raw`fig[dor]_[\w-]{20,}`,
  String.raw`gsk_[A-Za-z0-9]{40,}`,
  String.raw`hv[sbr]\.[\w-]{24,}`,
  String.raw`hf_[A-Za-z0-9]{30,}`,
  String.raw`lin_(?:api|oauth)_[A-Za-z0-9]{32,}`,
  String.raw`ntn_\d{8,}[A-Za-z0-9]{30,}`,
  String.raw`secret_[A-Za-z0-9]{43}`,
  String.raw`ops_eyJ[\w-]{50,}={0,2}`,
  String.raw`tskey-[a-z]+-[A-Za-z0-9]{8,}(?:-[A-Za-z0-9]{8,})?`,
  String.raw`vc[a-z]_[A-Za-z0-9]{24,}`,
  String.raw`cf[a-z]{1,2}_[A-Za-z0-9]{40,}`,
  String.raw`ost_[a-z0-9]{1,16}_[0-9A-Za-z]{49}`,
  String.raw`(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}`,
  String.raw`eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{16,}`,
];

const TOKEN = new RegExp(`${START}(?:${TOKENS.join("|")})${END}`, "g");
/** To its end, or as far as it looks like one: cut off or with a wrong end it is a key all the same. */
const PRIVATE_KEY =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----END)(?:\\[nr]|[A-Za-z0-9+/=\s:,.-])){16,20000}(?:-----END [A-Z0-9 ]{0,60}-----)?/g;
const WEBHOOK = /https:\/\/hooks\.slack\.com\/(?:services|workflows|triggers)\/[\w/]{16,}/g;
/** `scheme://user:password@host`: the password goes, the rest stays readable. */
const USER_INFO = /\b([a-z][a-z0-9+.-]{1,30}:\/\/)([^\s:/?#@"'<>]{0,200}):([^\s/@"'<>]{1,400})@(?=[\w.[-])/gi; // prettier-ignore
/** A name that says so, then a value that looks made by a machine. */
const NAMED =
  /((?:client[_-]?secret|secret[_-]?access[_-]?key|account[_-]?key)["']?\s{0,4}(?::=|=>|[:=])\s{0,4}["']?)([A-Za-z0-9~._/+=-]{32,200})/gi;

/** Cheap look first: nearly every text has none of these. */
const HINT =
  /PRIVATE KEY|:\/\/|secret|account.?key|[A-Za-z0-9]{2}[-_.][\w-]{8}|AKIA|ASIA|ABIA|ACCA|AIza|dapi|dkea|dose/i;

export interface Redacted<T> {
  readonly value: T;
  /** How many secrets were masked. */
  readonly masked: number;
}

export function redactText(text: string): Redacted<string> {
  if (text.length < 12 || !HINT.test(text)) return { value: text, masked: 0 };
  let masked = 0;
  const counted = (replacement: string): string => {
    masked++;
    return replacement;
  };
  const value = text
    .replace(PRIVATE_KEY, () => counted(MASK))
    .replace(WEBHOOK, () => counted(MASK))
    .replace(TOKEN, () => counted(MASK))
    .replace(USER_INFO, (whole, scheme: string, user: string, password: string) => password === MASK || isPlaceholder(password) ? whole : counted(`${scheme}${user}:${MASK}@`))
    .replace(NAMED, (whole, name: string, secret: string) => (secret === MASK ? whole : counted(`${name}${MASK}`))); // prettier-ignore
  return { value, masked };
}

/** `${PASSWORD}`, `<password>`, `****`: somebody else's way of not saying it. */
function isPlaceholder(password: string): boolean {
  return /^(?:\$\{?\w+\}?|\{\{?[\w.]+\}?\}|<[\w-]+>?|\*+|x+|%s|\[[\w-]+\])$/i.test(password);
}

/** Every text in a value; the same object when nothing is masked. Blocks of base64 under `$content` are left alone. */
export function redact<T extends Json>(value: T): Redacted<T> {
  let masked = 0;
  const visit = (inner: Json): Json => {
    if (typeof inner === "string") {
      const found = redactText(inner);
      masked += found.masked;
      return found.value;
    }
    if (typeof inner !== "object" || inner === null) return inner;
    let copy: Record<string, Json> | null = null;
    for (const [key, old] of Object.entries(inner)) {
      if (key === "$content") continue;
      const next = visit(old);
      if (next !== old) (copy ??= (Array.isArray(inner) ? [...(inner as readonly Json[])] : { ...inner }) as Record<string, Json>)[key] = next; // prettier-ignore
    }
    return copy ?? inner;
  };
  const result = visit(value) as T;
  return { value: result, masked };
}
