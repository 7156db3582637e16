// Proposes risk and effects of a tool. What a server says of itself can raise the risk, but alone cannot lower it.
import type { JsonObject } from "../../../contract/call.ts";
import type { ForeignDefinition, ToolTerms } from "../../../storage/store/store.ts";
import { RISKS, type Category, type Effects, type Risk } from "../../../contract/tool.ts";

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** Whatever else the name says. */
const WRITING = words("write delete execute send create modify update remove");
/** As a verb; behind one that reads it is a noun: `get_commit`. */
const CHANGING = words(
  "add append insert set put post patch edit move rename copy upload save store push commit merge publish share invite assign close start stop restart cancel submit book order buy pay purchase transfer approve grant revoke enable disable register subscribe import sync notify reply comment schedule click type press fill drag drop select navigate resize handle toggle",
);
const DESTROYING = words(
  "delete remove drop destroy erase wipe purge truncate clear reset kill terminate shutdown reboot format execute exec run eval invoke shell command script install uninstall deploy sudo sql unsafe",
);
const READING = words(
  "read get list search query view show find fetch lookup describe count status info check stat tree head preview snapshot inspect explain help",
);

const CATEGORY_WORDS: readonly (readonly [Category, ReadonlySet<string>])[] = [
  ["browser", words("browser page tab tabs click screenshot dom navigate")],
  ["shell", words("shell bash terminal exec command powershell")],
  [
    "database",
    words(
      "sql database db table tables query postgres sqlite mysql redis mongo collection row rows",
    ),
  ],
  [
    "memory",
    words(
      "memory memories entity entities relation relations observation observations graph knowledge remember recall",
    ),
  ],
  ["file", words("file files directory directories folder folders path document documents disk")],
  ["workflow", words("workflow workflows pipeline schedule cron job jobs")],
  ["agent", words("agent agents delegate subagent")],
  [
    "ai",
    words(
      "think thinking thought llm model generate summarize summarise embed embedding embeddings sampling translate classify completion",
    ),
  ],
  ["system", words("system env environment cpu host time clock log logs health version echo")],
  ["web", words("web http url fetch search crawl scrape")],
];

const graver = (one: Risk, other: Risk): Risk =>
  RISKS.indexOf(one) >= RISKS.indexOf(other) ? one : other;

export function proposeTerms(definition: ForeignDefinition): ToolTerms {
  const named = wordsOf(definition.name || definition.method);
  const category = categoryOf(named, definition);
  const annotations = definition.annotations ?? {};
  const openWorld = annotations["openWorldHint"] !== false;
  const risk = riskOf(definition, named, annotations);
  return {
    category,
    risk,
    effects: effectsOf(risk, named, annotations, openWorld),
    // Repeating is only offered where name and server agree that nothing changes.
    idempotent: risk === "safe",
    openWorld,
    cacheable: false,
  };
}

/** Two witnesses make it safe, one of them moderate; where there is none it counts as dangerous. */
function riskOf(
  definition: ForeignDefinition,
  named: readonly string[],
  annotations: JsonObject,
): Risk {
  // By the protocol these only read; what a resource contains is unknown.
  if (definition.method === "resources/read") return "moderate";
  if (definition.method === "prompts/get" || definition.method === "completion/complete")
    return "safe";
  const byName = riskOfName(named);
  const byServer = riskOfAnnotations(annotations);
  if (byName !== null && byServer !== null) return graver(byName, byServer);
  const only = byName ?? byServer;
  return only === null ? "dangerous" : graver(only, "moderate");
}

function riskOfName(named: readonly string[]): Risk | null {
  const reads = named.slice(0, 2).some((word) => READING.has(word));
  const changes = named.some(
    (word) => WRITING.has(word) || DESTROYING.has(word) || (!reads && CHANGING.has(word)),
  );
  if (changes) return "dangerous";
  return named.some((word) => READING.has(word)) ? "safe" : null;
}

/** As the protocol defines them: a tool that is not marked as reading may destroy. */
function riskOfAnnotations(annotations: JsonObject): Risk | null {
  const { readOnlyHint: reads, destructiveHint: destroys } = annotations;
  if (destroys === true && reads !== true) return "dangerous";
  if (reads === true) return destroys === true ? "dangerous" : "safe";
  if (destroys === false) return "moderate";
  return reads === false ? "dangerous" : null;
}

/** Reading what lies outside counts as network: the request itself can carry something out. */
function effectsOf(
  risk: Risk,
  named: readonly string[],
  annotations: JsonObject,
  openWorld: boolean,
): Effects {
  const byName = riskOfName(named);
  const saysItReads = annotations["readOnlyHint"] === true;
  if (
    risk !== "dangerous" &&
    byName !== "dangerous" &&
    annotations["readOnlyHint"] !== false &&
    (byName === "safe" || saysItReads)
  )
    return saysItReads && !openWorld ? "read_only" : "network";
  if (risk === "moderate") return "system_write";
  const destroys =
    annotations["destructiveHint"] === true || named.some((word) => DESTROYING.has(word));
  return destroys || byName === null ? "system_dangerous" : "system_write";
}

function categoryOf(named: readonly string[], { description }: ForeignDefinition): Category {
  const byName = CATEGORY_WORDS.find(([, known]) => named.some((word) => known.has(word)));
  if (byName) return byName[0];
  const described = wordsOf(description.slice(0, 300));
  // An unknown tool is most often a service on the web.
  return (
    CATEGORY_WORDS.find(([, known]) => described.some((word) => known.has(word)))?.[0] ?? "web"
  );
}

/** `browser_takeScreenshot` => browser, take, screenshot. */
function wordsOf(text: string): string[] {
  return text
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== "");
}
