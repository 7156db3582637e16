// Text of models, tools and other people on its way to a terminal.

/** Everything that steers a terminal or turns text round: control characters, and marks of writing direction. */
const STEERING = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Line breaks and tabs stay. Character by character, so that it holds for pieces of a stream too. */
export const plainText = (text: string): string => text.replace(STEERING, "");
