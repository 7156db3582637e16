/**
 * Text that a person is about to approve: characters that do not show, turn the text round or steer a terminal are
 * written out (`\u{202e}`). Line breaks stay.
 */
export function visible(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/gu,
    (char) => (char === "\n" ? char : `\\u{${char.codePointAt(0)?.toString(16)}}`),
  );
}
