// Invisible and misleading characters, and how they are written out for the administrator.
import { visible } from "../../../util/text/visible.ts";

/** Selects a form of the character before it; behind an emoji it is ordinary. */
export const VARIATION = /[\u180b-\u180f\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u;
const EMOJI_SELECTED = /[\p{Emoji}\p{Extended_Pictographic}]\ufe0f/gu;
const EMOJI_JOINED =
  /\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]*(?:\u200d\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]*)+/gu;

/** Letters of other alphabets that look like ours. */
const LOOKALIKES: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ..."аaеeоoрpсcхxуyіiјjѕsԁdһhԛqԝwАAВBЕEКKМMНHОOРPСCТTХXЅSІIЈJοoαaνvΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXıiɡgℓl",
  ].flatMap((char, at, all) => (at % 2 === 0 ? [[char, all[at + 1] ?? ""]] : [])),
);

const WORD = /[\p{L}\p{N}_]+/gu;
/** Where a word changes from Latin letters to Cyrillic or Greek ones, or back. */
export const MIXED =
  /[A-Za-z][\p{N}_]*[\p{Script=Cyrillic}\p{Script=Greek}]|[\p{Script=Cyrillic}\p{Script=Greek}][\p{N}_]*[A-Za-z]/u;

/** Emoji are taken out of what is searched for hidden characters: they are made of them. */
export function withoutEmoji(text: string): string {
  return text.replace(EMOJI_JOINED, "").replace(EMOJI_SELECTED, "");
}

/**
 * As `visible`, and also what selects variants and letters that pose as others; `all` writes out whatever is not ASCII.
 */
export function reveal(text: string, which: "hidden" | "all" = "hidden"): string {
  const written = (char: string): string => `\\u{${char.codePointAt(0)?.toString(16)}}`;
  const shown = visible(text);
  if (which === "all") return shown.replace(/[^\n\x20-\x7e]/gu, written);
  return shown
    .replace(new RegExp(VARIATION, "gu"), (char, at: number) =>
      char === "\ufe0f" &&
      /[\p{Emoji}\p{Extended_Pictographic}]$/u.test(shown.slice(Math.max(0, at - 2), at))
        ? char
        : written(char),
    )
    .replace(/[\u034f\u17b4\u17b5]/gu, written)
    .replace(WORD, (word) =>
      MIXED.test(word) ? word.replace(/[\p{Script=Cyrillic}\p{Script=Greek}]/gu, written) : word,
    );
}

/** What a model may read in it: nothing hidden in between, letters as they look, small, single blanks. */
export function asRead(text: string): string {
  return text
    .replace(/[\u{e0020}-\u{e007e}]/gu, (char) =>
      String.fromCodePoint((char.codePointAt(0) ?? 0) - 0xe0000),
    )
    .replace(/[\p{Cf}\ufe00-\ufe0f\u{e0100}-\u{e01ef}\u034f]/gu, "")
    .normalize("NFKC")
    .replace(/\P{ASCII}/gu, (char) => LOOKALIKES[char] ?? char)
    .toLowerCase()
    .replace(/[\s_]+/g, " ")
    .replaceAll("’", "'");
}
