// Writes the table of docs/metrics.md from the families themselves; a test fails when the page is out of date.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { format } from "prettier";
import { EXECUTE } from "../src/core/gate/index.ts";
import { createMetrics } from "../src/core/record/metrics.ts";

const PAGE = join(import.meta.dirname, "../docs/metrics.md");
const FROM = "<!-- table: written by `node scripts/metrics-docs.ts` -->";
const TO = "<!-- end of the table -->";

/** The page with the table as the code has it; everything around it stays as it is written. */
export async function metricsPage(page: string): Promise<string> {
  const stages = EXECUTE.map(({ name }) => name);
  const [metrics, named] = [false, true].map((identityLabels) =>
    createMetrics({ version: "", identityLabels, stages }),
  );
  const rows = (metrics?.families ?? []).map(({ name, type, labels = [], help }, i) => {
    const all = named?.families[i]?.labels ?? [];
    const shown = all.map((label) => (labels.includes(label) ? `\`${label}\`` : `(\`${label}\`)`));
    return `| \`${name}\` | ${type} | ${shown.join(", ")} | ${help} |`;
  });
  metrics?.close();
  named?.close();
  const table = ["| name | type | labels | meaning |", "|---|---|---|---|", ...rows].join("\n");
  const before = page.slice(0, page.indexOf(FROM) + FROM.length);
  const text = `${before}\n\n${table}\n\n${page.slice(page.indexOf(TO))}`;
  return format(text, { parser: "markdown", printWidth: 100 });
}

if (import.meta.main) await writeFile(PAGE, await metricsPage(await readFile(PAGE, "utf8")));
