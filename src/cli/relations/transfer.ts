// Whole sets of relationships from and to files, in the format of the SpiceDB playground.
import { writeFileSync } from "node:fs";
import { parsePlayground, playgroundText } from "../../governance/relations/playground.ts";
import { parseRelationship, relationshipText } from "../../governance/relations/text.ts";
import type { Cli } from "../cli.ts";
import type { Api } from "../client/client.ts";
import { fields } from "../output/render.ts";
import { asUsage, readInput, type RelationshipPage, type WrittenTuples } from "./common.ts";

/** As many as one request takes; a larger file is not one change. */
const BATCH = 1_000;
const PAGE = 100;

export async function importFile(cli: Cli, file: string): Promise<void> {
  const { schema, relationships } = asUsage(() => parsePlayground(readInput(file)));
  const api = await cli.connect("admin");
  const { schema: inForce } = await schemaOf(api);
  if (schema !== "" && squeezed(schema) !== squeezed(inForce))
    cli.term.note(
      "the schema in this file is not the one in force; only its relationships are imported",
    );
  let imported = 0;
  let revision = "";
  for (let i = 0; i < relationships.length; i += BATCH) {
    const changes = relationships
      .slice(i, i + BATCH)
      .map((one) => ({ relationship: relationshipText(one) }));
    const written = await api.post<WrittenTuples>("relationships", { changes });
    imported += written.changed;
    revision = written.revision;
    if (relationships.length > BATCH) cli.term.note(`${imported} of ${relationships.length}`);
  }
  const answer = { imported, revision };
  if (cli.flags.json) return cli.term.printJson(answer);
  for (const line of fields(answer)) cli.term.print(line);
}

export async function exportFile(cli: Cli, file: string | undefined): Promise<void> {
  const api = await cli.connect("admin");
  const { schema } = await schemaOf(api);
  const texts: string[] = [];
  for (let after: string | undefined; ;) {
    const page = await api.get<RelationshipPage>("relationships", { limit: PAGE, after });
    texts.push(...page.items.map(({ text }) => text));
    if (page.next === null) break;
    after = page.next;
  }
  texts.sort();
  const text = playgroundText({ schema, relationships: texts.map(parseRelationship) });
  if (file !== undefined) {
    writeFileSync(file, text);
    cli.term.note(`${texts.length} relationships written to ${file}`);
  }
  if (cli.flags.json) cli.term.printJson({ schema, relationships: texts });
  else if (file === undefined) cli.stdout.write(text);
}

const schemaOf = (api: Api): Promise<{ schema: string }> => api.get("relationships/schema");

const squeezed = (schema: string): string => schema.replace(/\s+/g, "");
