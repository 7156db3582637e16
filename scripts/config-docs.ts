// Writes docs/config.md from the schema; a test fails when the page is out of date.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { format } from "prettier";
import { configLayout, type Leaf } from "../src/config/leaves.ts";
import { NOT_AVAILABLE } from "../src/config/schema.ts";

const HEAD = `# Configuration

Generated from the schema by \`node scripts/config-docs.ts\`; do not edit.

Ostiary starts without any configuration. Settings are read once, in this order, later ones winning: defaults, the
file, environment variables, flags. The file is \`--config\`, else \`OSTIARY_CONFIG\`, else \`ostiary.yaml\` in the data
directory when it is there. Anything that does not fit stops the start, and all faults are listed together with file,
line and column. \`ostiary config print --origin\` shows every value and where it came from (\`GET /api/v1/settings\` those of a running server, for administrators), \`ostiary config check\` only
checks.

\`\`\`yaml
# yaml-language-server: $schema=./ostiary.schema.json
server:
  port: 8080
  allowedHosts: [tools.example.com]
store: postgres://ostiary:\${env:DB_PASSWORD}@db.example.com/ostiary
\`\`\`

\`ostiary config schema > ostiary.schema.json\` writes the JSON Schema, which gives editors completion and checks.

- **Secrets by reference:** inside a text value \`\${env:NAME}\` and \`\${file:PATH}\` stand for a variable and for a file's
  content (without the last line end; a relative path counts from the configuration file). \`$\${\` is a literal \`\${\`.
- **Environment:** an empty variable counts as not set. Switches take true, 1, yes, on and false, 0, no, off. Lists are
  separated by commas. Entries by name are JSON. An unknown \`OSTIARY_\` variable is a fault.
- **Paths:** \`~\` is the home; relative ones count from the configuration file, or from the start folder when they come
  from a variable or a flag.

`;

export async function configPage(): Promise<string> {
  const waiting = new Map(NOT_AVAILABLE.map((row) => [row.key, row.feature]));
  const leaves = [...configLayout().leaves.values()];
  const ready = leaves.filter((leaf) => !waiting.has(leaf.key));
  const later = leaves.filter((leaf) => waiting.has(leaf.key));
  const text = `${HEAD}## Settings

| key | variable | flag | default | expected | meaning |
|---|---|---|---|---|---|
${ready.map(rowOf).join("\n")}

## Not available in this version

These keys are known, and refused with that message when they are set to anything else than the value shown, which is
what happens today.

| key | variable | today | feature |
|---|---|---|---|
${later.map((leaf) => `| \`${leaf.key}\` | \`${leaf.env}\` | ${code(leaf.fallback)} | ${waiting.get(leaf.key) ?? ""} |`).join("\n")}
`;
  return format(text, { parser: "markdown", printWidth: 100 });
}

function rowOf(leaf: Leaf): string {
  const flag = leaf.flag === null ? "" : `\`${leaf.flag}\``;
  return `| \`${leaf.key}\` | \`${leaf.env}\` | ${flag} | ${code(leaf.fallback)} | ${leaf.expected} | ${outsideCode(leaf.description)} |`;
}

/** A bare `<word>` would be read as HTML. */
function outsideCode(text: string): string {
  const parts = text.split("`");
  return parts.map((part, i) => (i % 2 === 0 ? part.replaceAll("<", "\\<") : part)).join("`");
}

function code(value: unknown): string {
  return value === undefined
    ? "–"
    : `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
}

if (import.meta.main)
  await writeFile(join(import.meta.dirname, "../docs/config.md"), await configPage());
