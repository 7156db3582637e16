// JSON in what a model said.

/** From the first brace to the last; all of it where there are none. */
export function bracedPart(text: string): string {
  const [from, to] = [text.indexOf("{"), text.lastIndexOf("}")];
  return from >= 0 && to > from ? text.slice(from, to + 1) : text;
}

/** What stands between ```json and ```, where nothing else does. */
export function withoutFence(text: string): string {
  const said = text.trim();
  if (!said.startsWith("```") || !said.endsWith("```")) return text;
  const head = said.indexOf("\n");
  if (head < 0 || head >= said.length - 3) return text;
  return /^```(?:json)?[ \t\r]*$/.test(said.slice(0, Math.min(head, 100)))
    ? said.slice(head + 1, -3)
    : text;
}
