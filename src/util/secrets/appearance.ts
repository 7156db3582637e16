// Does a value behind a name like `password` look like a secret, or like a placeholder?
import { withoutMasks } from "./mask.ts";

/** `${PASSWORD}`, `<password>`, `****`, `process.env.X`: the place of a secret, not the secret. */
const PLACEHOLDER =
  /^(?:\$\{[^}]*\}?|\$\([^)]*\)?|\$[A-Za-z_]\w*|\{\{?[^}]*\}{0,2}|<[^>]*>?|%\(?\w+\)?s?|[*•x.…-]+|\[[^\]]*\]?|(?:your|my|some|the|an?)[-_ ].*|.{0,12}(?:example|placeholder|changeme|change[-_]me|redacted|dummy|replace[-_]|not[-_]a[-_]real).{0,16}|null|nil|none|undefined|true|false|(?:process\.env|os\.environ|os\.getenv|env|ENV|System\.getenv|import\.meta|secrets|vars|config|settings|self|this|props|params|args|input|options|req|request|ctx|context)[.[(].*)$/i;
/** `user.password`, `getToken()`, `string | null`: what programs say. */
const CODE =
  /^(?:[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+|[A-Za-z_$][\w$.]*(?:\(.*|\[.*|<.*))$/;
const PLACE = /^(?:(?:\.{0,2}|~)\/[\w./~-]*|[a-z][a-z0-9+.-]{1,20}:\/\/.*|[A-Za-z]:\\.*)$/;
const DATE = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:.*)?$/;

export const isPlaceholder = (value: string): boolean => PLACEHOLDER.test(value);

const isOrdinary = (value: string): boolean =>
  isPlaceholder(value) || CODE.test(value) || DATE.test(value) || PLACE.test(value);

/** Of a password: short ones count too, but a plain word is as likely a label. */
export function looksChosen(given: string): boolean {
  const value = withoutMasks(given);
  if (value.length < 6 || /\s/.test(value) || isOrdinary(value)) return false;
  return /^\d+$/.test(value) || kinds(value) >= 2;
}

/** Of tokens and keys: letters and digits that contain no word. */
export function looksMade(given: string, least = 8): boolean {
  const value = withoutMasks(given);
  if (value.length < least || /\s/.test(value) || isOrdinary(value)) return false;
  if (!/[A-Za-z]/.test(value) || /^[A-Za-z]+[-_]?\d{1,4}$/.test(value)) return false;
  const mixed =
    /\d/.test(value) || (value.length >= 24 && /[a-z]/.test(value) && /[A-Z]/.test(value.slice(1)));
  return mixed && entropy(value) >= 2.5;
}

/** Of license keys and the like: groups of letters and digits count, too. */
export const looksGrouped = (value: string): boolean =>
  looksMade(value) || /^(?:[A-Z0-9]{3,8}-){2,8}[A-Z0-9]{3,8}$/.test(value);

/** Of PINs and one-time codes. */
export const looksLikeCode = (value: string): boolean => /^\d(?:[\d -]{2,10}\d)$/.test(value);

/** Small letters, capitals behind them, digits, signs. */
function kinds(value: string): number {
  const found = [/[a-z]/, /.[A-Z]/, /\d/, /[^\w\s.,:;()-]/];
  return found.filter((kind) => kind.test(value)).length;
}

/** A value is judged by so many characters of its beginning. */
export const JUDGED = 256;
const COUNTED = 96;

/** Bits per character, of what its beginning is made of. */
function entropy(value: string): number {
  const counts = new Map<number, number>();
  const length = Math.min(value.length, COUNTED);
  for (let at = 0; at < length; at++) {
    const unit = value.charCodeAt(at);
    counts.set(unit, (counts.get(unit) ?? 0) + 1);
  }
  let bits = 0;
  for (const count of counts.values()) bits -= (count / length) * Math.log2(count / length);
  return bits;
}
