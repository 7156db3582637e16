// What a masked value looks like, and which names hold values that nobody should read.

export const MASK = "[masked]";

/** `[masked]`, or `[masked:0123456789ab]` in the record: equal secrets have equal tags. */
const WHOLE = /^\[masked(?::[0-9a-f]{12})?\]$/;
const ANYWHERE = /\[masked(?::[0-9a-f]{12})?\]/g;

export const taggedMask = (tag: string): string => `[masked:${tag}]`;

export const isMasked = (value: unknown): value is string =>
  typeof value === "string" && value.length <= 24 && WHOLE.test(value);

/** Does a mask stand in this text, alone or among other words? */
export const holdsMask = (text: string): boolean =>
  text.includes("[masked") && new RegExp(ANYWHERE.source).test(text);

/** The text without its masks: what is left was not masked before. */
export const withoutMasks = (text: string): string =>
  text.includes("[masked") ? text.replace(ANYWHERE, "") : text;

/** Puts something else in the place of each mask. */
export const replaceMasks = (text: string, replacement: (mask: string) => string): string =>
  text.replace(ANYWHERE, replacement);

/** A cursor is called a token, too, and clients need it to read a list. */
const SECRET_KEY =
  /pass(?:word|wd|phrase|code)?$|pwd$|secret|(?<!(?:next|page|continuation|continue|sync|resume|delta|cursor|marker)[-_]?)token$|api[-_]?key|access[-_]?key$|authorization|cookie|credential|(?:private|encryption|signing|ssh)[-_]?key|mnemonic|seed[-_]?phrase|jwt$|otp$|^auth$/i;
/** The same in one word, however it was split (`pass-word`, `apiKeys`), and of several. */
const JOINED =
  /pass(?:word|wd|phrase|code)s?$|pwds$|apikeys?$|(?:access|account|licen[sc]e|activation|recovery|private|encryption|signing|master|shared|storage|session|service|client|subscription|webhook|app|admin|deploy|ssh|gpg|pgp|rsa|aes|hmac|jwt|auth)keys?$|(?:recovery|backup)codes?$|bearer$|(?:access|auth|refresh|api|bearer|secret|personal|deploy|bot|oauth|id|csrf|xsrf|device|service)tokens$|creds$|jwts$|otps$|seedphrases$|accesskeyids?$|connectionstrings?$/;
/** Names of short numbers. `pin` is also what holds a version fast. */
const CODES = /(?:^|_)(?:pins?|pin_?codes?|t?otps?|cvv2?|cvc2?|mfa_?codes?)$/;
/** Variables of the environment: `OPENAI_KEY`. */
const VARIABLE = /[A-Z0-9]_KEYS?$/;
/** Longer names are no names. */
const MAX_NAME_CHARS = 256;

/** `db_password` of `dbPassword` and `DB-Password`. */
const inWords = (name: string): string =>
  name
    .slice(-MAX_NAME_CHARS)
    .replace(/([a-z0-9])(?=[A-Z])/g, "$1_")
    .replace(/[^A-Za-z0-9]+/g, "_")
    .toLowerCase();

/**
 * What the name of a field says of its value: a secret whatever it is, one if it is a short number, one if it is
 * text.
 */
export type SecretKind = "whole" | "code" | "texts" | null;

export function secretKind(name: string): SecretKind {
  if (isSecretField(name)) return "whole";
  const words = inWords(name);
  if (CODES.test(words)) return "code";
  // How many tokens a model used is no secret.
  return words === "tokens" ? "texts" : null;
}

/** Is the value of a field with this name a secret, whatever it is? */
export const isSecretField = (name: string): boolean =>
  SECRET_KEY.test(name) || VARIABLE.test(name) || JOINED.test(inWords(name).replaceAll("_", ""));

/** The same of variables of the environment, where every `…KEY` counts. */
export const isSecretName = (name: string): boolean =>
  isSecretField(name) || /_?KEYS?$/i.test(name);
