// Reads the YAML file and keeps the place of every key, so that a fault can say line and column.
import { readFileSync, statSync } from "node:fs";
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import type { Document, Node } from "yaml";
import { nearest } from "../util/text/nearest.ts";
import { fault, type ConfigFault } from "./faults.ts";
import type { Layout } from "./leaves.ts";

const MAX_BYTES = 1_048_576;

export interface FileSetting {
  readonly value: unknown;
  /** file:line:column of the value; of a list also that of each item. */
  readonly where: string;
  readonly items: readonly string[];
}

export function readConfigFile(
  path: string,
  layout: Layout,
): { settings: Map<string, FileSetting>; faults: ConfigFault[] } {
  let text: string;
  try {
    if (statSync(path).size > MAX_BYTES)
      return failed(path, `the file is larger than ${MAX_BYTES} bytes`);
    text = readFileSync(path, "utf8");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const why =
      code === "ENOENT"
        ? "there is no such file"
        : code === "EISDIR"
          ? "it is a folder, not a file"
          : `it cannot be read (${code ?? String(cause)})`;
    return failed(path, why);
  }
  return readConfigText(text, path, layout);
}

const failed = (path: string, why: string) => ({
  settings: new Map<string, FileSetting>(),
  faults: [fault(path, "", why)],
});

export function readConfigText(
  text: string,
  path: string,
  layout: Layout,
): { settings: Map<string, FileSetting>; faults: ConfigFault[] } {
  const counter = new LineCounter();
  const doc = parseDocument(text, { lineCounter: counter, prettyErrors: false });
  const place = (offset: number | undefined) => {
    const { line, col } = counter.linePos(offset ?? 0);
    return `${path}:${Math.max(line, 1)}:${Math.max(col, 1)}`;
  };
  const settings = new Map<string, FileSetting>();
  const faults = [...doc.errors, ...doc.warnings].map((error) =>
    fault(place(error.pos[0]), "", `not valid YAML: ${error.message}`),
  );
  if (faults.length === 0) {
    try {
      walk({ doc, layout, place, settings, faults }, "", doc.contents);
    } catch (cause) {
      // The parser refuses what would grow without bound, such as aliases of aliases.
      faults.push(fault(path, "", `not usable: ${cause instanceof Error ? cause.message : ""}`));
    }
  }
  return { settings, faults };
}

interface Walk {
  doc: Document;
  layout: Layout;
  place: (offset: number | undefined) => string;
  settings: Map<string, FileSetting>;
  faults: ConfigFault[];
}

function walk(w: Walk, section: string, node: Node | null): void {
  const target = isAlias(node) ? node.resolve(w.doc) : node;
  if (target == null || (isScalar(target) && target.value === null)) return;
  if (!isMap(target)) {
    const what = section === "" ? "settings" : `the settings of ${section}`;
    w.faults.push(
      fault(
        w.place(node?.range?.[0]),
        section,
        `expected ${what} as "key: value" lines, got ${kindOf(target)}`,
      ),
    );
    return;
  }
  for (const pair of target.items) {
    const keyNode = pair.key as Node;
    const name = isScalar(keyNode) ? String(keyNode.value) : "?";
    const key = section === "" ? name : `${section}.${name}`;
    const value = pair.value as Node | null;
    if (w.layout.leaves.has(key)) w.settings.set(key, settingOf(w, keyNode, value));
    else if (w.layout.sections.has(key) && key !== "") walk(w, key, value);
    else w.faults.push(unknownKey(w, section, name, w.place(keyNode.range?.[0])));
  }
}

function settingOf(w: Walk, keyNode: Node, value: Node | null): FileSetting {
  const target = isAlias(value) ? value.resolve(w.doc) : value;
  return {
    value: (target?.toJS(w.doc) as unknown) ?? null,
    where: w.place(value?.range?.[0] ?? keyNode.range?.[0]),
    items: isSeq(target) ? target.items.map((item) => w.place((item as Node).range?.[0])) : [],
  };
}

function unknownKey(w: Walk, section: string, name: string, where: string): ConfigFault {
  const siblings = w.layout.sections.get(section) ?? [];
  const elsewhere = [...w.layout.leaves.keys()];
  const guess =
    prefixed(section, nearest(name, siblings)) ??
    elsewhere.find((key) => key.endsWith(`.${name}`)) ??
    nearest(name, elsewhere);
  const inside = section === "" ? "" : ` in ${section}`;
  const known = guess === null ? `known: ${siblings.join(", ")}` : `did you mean ${guess}?`;
  return fault(
    where,
    prefixed(section, name) ?? name,
    `unknown key ${JSON.stringify(name)}${inside}; ${known}`,
  );
}

function prefixed(section: string, name: string | null): string | null {
  return name === null || section === "" ? name : `${section}.${name}`;
}

function kindOf(node: Node): string {
  if (isSeq(node)) return "a list";
  return isScalar(node) ? JSON.stringify(node.value) : "something else";
}
