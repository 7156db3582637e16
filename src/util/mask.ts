// What a masked value looks like, and which names hold values that nobody should read (L19).

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

/** A cursor is called a token, too, and whoever reads a list needs it. */
const SECRET_KEY =
  /pass(?:word|wd|phrase|code)?$|pwd$|secret|(?<!(?:next|page|continuation|continue|sync|resume|delta|cursor|marker)[-_]?)token$|api[-_]?key|access[-_]?key$|authorization|cookie|credential|(?:private|encryption|signing|ssh)[-_]?key|mnemonic|seed[-_]?phrase|jwt$|otp$|^auth$/i;
/** Variables of the environment: `OPENAI_KEY`. */
const VARIABLE = /[A-Z0-9]_KEY$/;

/** Is the value of a field with this name a secret? */
export const isSecretField = (name: string): boolean =>
  SECRET_KEY.test(name) || VARIABLE.test(name);

/** The same of variables of the environment, where every `…KEY` counts. */
export const isSecretName = (name: string): boolean =>
  SECRET_KEY.test(name) || /_?KEY$/i.test(name);
