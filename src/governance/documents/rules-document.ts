// Governance as a document with versions: checked before it is published, and swapped in one step.
import { AppError } from "../../contract/errors.ts";
import { createGovernance, type GovernanceOptions } from "../rules/create.ts";
import { readGovernance, type KnownNames } from "../rules/files/files.ts";
import type { DocumentFault, DocumentHandler, Governance } from "../rules/governance.ts";

export interface GovernanceHolder {
  /** Always reads the newest one; what a question began with, it ends with. */
  readonly governance: Governance;
  readonly handler: DocumentHandler;
}

export interface HolderOptions extends GovernanceOptions {
  readonly known: KnownNames;
  /** Called after each swap. */
  readonly onChange?: (governance: Governance) => void;
}

/** Throws with every fault when the files are not valid: nothing starts on half a governance. */
export function createGovernanceHolder(
  files: Readonly<Record<string, string>>,
  options: HolderOptions,
  version: string,
): GovernanceHolder {
  const build = (texts: Readonly<Record<string, string>>, named: string): Governance => {
    const read = readGovernance(texts, options.known);
    if (read.faults.length > 0) throw notValid(read.faults);
    return createGovernance(read.files, options, named);
  };
  let current = build(files, version);
  return {
    governance: {
      get version() {
        return current.version;
      },
      modeRule: (tool, mode) => current.modeRule(tool, mode),
      describe: (mode) => current.describe(mode),
      filesFor: (subject) => current.filesFor(subject),
      hostsFor: (subject) => current.hostsFor(subject),
      isVariableDenied: (name) => current.isVariableDenied(name),
      judgeArguments: (subject) => current.judgeArguments(subject),
      judgeCommands: (subject) => current.judgeCommands(subject),
      taintRule: (tool, taint) => current.taintRule(tool, taint),
      minds: (reader) => current.minds(reader),
      approvalRules: (tool) => current.approvalRules(tool),
      asGoverned: (tool, given) => current.asGoverned(tool, given),
      get limits() {
        return current.limits;
      },
      budget: (plan, metric) => current.budget(plan, metric),
      get lowWarning() {
        return current.lowWarning;
      },
      get sensors() {
        return current.sensors;
      },
      get transitions() {
        return current.transitions;
      },
    },
    handler: {
      check: (texts) => Promise.resolve(readGovernance(texts, options.known).faults),
      // Not async: a read after the call gets the new one.
      apply(state, document) {
        if (document === null) return Promise.resolve();
        if (state === "shadow") return Promise.reject(noTrial());
        try {
          current = build(document.files, String(document.version));
          options.onChange?.(current);
          return Promise.resolve();
        } catch (cause) {
          return Promise.reject(cause instanceof Error ? cause : new Error(String(cause)));
        }
      },
    },
  };
}

export function describeFault({ file, line, column, message }: DocumentFault): string {
  return `${file}:${line}:${column} ${message}`;
}

function notValid(faults: readonly DocumentFault[]): AppError {
  const count = faults.length === 1 ? "1 fault" : `${faults.length} faults`;
  const lines = faults.map((fault) => `  ${describeFault(fault)}`).join("\n");
  return new AppError(
    "BAD_REQUEST",
    "invalid_input",
    `The governance files are not valid (${count}).\n${lines}`,
    {
      remedy: "correct the lines that are named; nothing was changed",
      errors: faults.map((fault) => ({ path: `/${fault.file}`, message: describeFault(fault) })),
    },
  );
}

function noTrial(): AppError {
  return new AppError(
    "BAD_REQUEST",
    "invalid_input",
    "governance files cannot be tried in the shadow of others",
    {
      remedy: "check them, then publish them as enforced; rollback takes them back",
    },
  );
}
