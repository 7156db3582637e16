// JSON in the answer of a model.

/** From the first brace to the last; all of it where there are none. */
export function bracedPart(text: string): string {
  const [from, to] = [text.indexOf("{"), text.lastIndexOf("}")];
  return from >= 0 && to > from ? text.slice(from, to + 1) : text;
}

/** What stands between ```json and ```, where nothing else does. */
export function withoutFence(text: string): string {
  const trimmed = text.trim();
  if (!trimmed.startsWith("```") || !trimmed.endsWith("```")) return text;
  const head = trimmed.indexOf("\n");
  if (head < 0 || head >= trimmed.length - 3) return text;
  return /^```(?:json)?[ \t\r]*$/.test(trimmed.slice(0, Math.min(head, 100)))
    ? trimmed.slice(head + 1, -3)
    : text;
}
