// The secrets that a server's headers hold once they are filled in, so that an API that echoes them shows them to
// nobody.
const REFERENCE = /\$\{credential:[^${}]*\}/;
const SHORTEST = 6;
const MASK = "[credential]";

/** `templates`: the headers as they are stored; `filled`: as they are sent. */
export function cleanerOf(
  templates: Readonly<Record<string, string>>,
  filled: Readonly<Record<string, string>>,
): (text: string) => string {
  const secrets = new Set<string>();
  for (const [name, template] of Object.entries(templates)) {
    const value = filled[name];
    if (value === undefined || !REFERENCE.test(template)) continue;
    for (const secret of spellings(secretIn(template, value)))
      if (secret.length >= SHORTEST) secrets.add(secret);
  }
  // The longest first: one may hold another.
  const found = [...secrets].sort((a, b) => b.length - a.length);
  return (text) => found.reduce((left, secret) => left.replaceAll(secret, MASK), text);
}

/** What stands where the references stood, from the first to the last. */
function secretIn(template: string, value: string): string {
  const before = template.slice(0, template.search(REFERENCE));
  const after = template.slice(template.lastIndexOf("}") + 1);
  return value.slice(before.length, value.length - after.length);
}

/** As it is, as JSON and addresses write it, and what a Basic header says in clear. */
function spellings(secret: string): string[] {
  const all = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)];
  if (!/^[A-Za-z0-9+/]{8,}={0,2}$/.test(secret)) return all;
  const decoded = Buffer.from(secret, "base64").toString("utf8");
  return /^[\x20-\x7e]+:[\x20-\x7e]+$/.test(decoded)
    ? [...all, decoded, decoded.slice(decoded.indexOf(":") + 1)]
    : all;
}
