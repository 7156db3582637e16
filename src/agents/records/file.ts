// A file of agents as text: read with the place of every fault, and written so that the same records give the same
// text.
import { Document, isMap, isScalar } from "yaml";
import type { FieldFault } from "../../contract/errors.ts";
import { nearest } from "../../util/text/nearest.ts";
import { faultsIn, notValid, readYaml, type FieldPath } from "../yaml-file.ts";
import { agentFile, type AgentFile } from "./schema.ts";

export interface ReadFile {
  readonly content: AgentFile;
  /** A fault of the field at this path, with its line. */
  fault(path: FieldPath, message: string): FieldFault;
}

/** Throws with every fault: `agents.yaml:12:5`, the field, and what was expected. */
export function readAgentFile(file: string, text: string): ReadFile {
  const read = readYaml(file, text);
  const parsed = agentFile.safeParse(read.value);
  if (parsed.success) return { content: parsed.data, fault: read.fault };
  throw notValid(file, faultsIn(read, parsed.error.issues, unknownKey));
}

function unknownKey(path: FieldPath, key: string): string {
  const [section] = path as ["models" | "capsules" | "personas" | undefined];
  const known =
    section === undefined
      ? Object.keys(agentFile.shape)
      : path.length === 2
        ? Object.keys(agentFile.shape[section].unwrap().valueType.shape)
        : [];
  const guess = nearest(key, known);
  return `unknown field${guess === null ? "" : `; did you mean ${guess}?`}`;
}

export interface WrittenFile extends Pick<AgentFile, "models" | "capsules" | "personas"> {
  /** Models whose key is sealed, and so is missing in the file. */
  readonly sealed: readonly string[];
}

const HEAD = ` What agents of an Ostiary are: ostiary agents import takes it.`;
const SEALED = ` Its key is sealed and not part of this file: set it again, or name keyReference: env:NAME.`;

export function writeAgentFile({ sealed, ...records }: WrittenFile): string {
  const doc = new Document({ version: 1, ...records }, { aliasDuplicateObjects: false });
  doc.commentBefore = HEAD;
  const models = doc.get("models");
  if (isMap(models))
    for (const pair of models.items)
      if (isScalar(pair.key) && sealed.includes(String(pair.key.value)))
        pair.key.commentBefore = SEALED;
  return doc.toString({ lineWidth: 0 });
}
