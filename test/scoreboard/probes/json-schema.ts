// The suite of JSON Schema against the validator that judges arguments of foreign tools.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Json, JsonObject } from "../../../src/contract/call.ts";
import { foreignSchema } from "../../../src/util/schema/foreign-schema.ts";
import { openCount, type Probe } from "../figure.ts";
import { NotRun } from "../results.ts";

const CORPUS = join(
  import.meta.dirname,
  "../../../../shared/corpora/jsonschema/tests/draft2020-12",
);

interface Group {
  readonly description: string;
  readonly schema: JsonObject | boolean;
  readonly tests: readonly {
    readonly description: string;
    readonly data: Json;
    readonly valid: boolean;
  }[];
}

interface Outcome {
  readonly name: string;
  readonly valid: boolean;
  readonly how: "agrees" | "differs" | "refused";
}

const probe: Probe = async () => {
  if (!existsSync(CORPUS)) throw new NotRun("../shared/corpora/jsonschema is absent");
  const files = (readdirSync(CORPUS, { recursive: true }) as string[]).filter((name) =>
    name.endsWith(".json"),
  );
  const [required, optional] = [false, true].map((isOptional) =>
    files.filter((name) => name.startsWith("optional") === isOptional).flatMap(outcomesOf),
  ) as [Outcome[], Outcome[]];
  const count = openCount("required cases");
  for (const { name, valid, how } of required) {
    if (how === "refused") continue;
    count.add(how === "agrees" ? null : name);
    if (valid) count.control(how === "agrees", `a valid instance is refused: ${name}`);
  }
  const of = (list: readonly Outcome[], how: Outcome["how"]): number =>
    list.filter((one) => one.how === how).length;
  return count.figure({
    figures: `optional: ${of(optional, "agrees")} of ${optional.length} agree, ${of(optional, "refused")} refused`,
    note: `${of(required, "refused")} required cases need a schema from elsewhere: refused on purpose; the validator is called, not a door`,
  });
};
export default probe;

function outcomesOf(file: string): Outcome[] {
  const groups = JSON.parse(readFileSync(join(CORPUS, file), "utf8")) as Group[];
  return groups.flatMap(({ schema, description, tests }) => {
    const made = foreignSchema(typeof schema === "boolean" ? { allOf: [schema] } : schema);
    return tests.map((one): Outcome => {
      const name = `${file}: ${description}: ${one.description}`;
      if ("fault" in made) return { name, valid: one.valid, how: "refused" };
      return {
        name,
        valid: one.valid,
        how: (made.check(one.data).length === 0) === one.valid ? "agrees" : "differs",
      };
    });
  });
}
