/** A value as it was given, for messages: visible, on one line, and short. */
export function quote(given: string): string {
  const text = JSON.stringify(given.length > 200 ? `${given.slice(0, 200)}…` : given);
  return text.replace(/\p{Cc}/gu, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
}
