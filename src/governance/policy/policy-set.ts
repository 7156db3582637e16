// One policy set, compiled and ready to be asked: the yes or no, the sentences beside it, and the rule it came from.
import { createHash, randomBytes } from "node:crypto";
import type { DocumentFault } from "../rules/governance.ts";
import { allowingRule, partsRead, reasonRule, refusingRule, ruleText } from "./explanation.ts";
import { partsOf } from "./files.ts";
import { nodeCrypto } from "@ostiary/rego/node-crypto";
import type { PolicyDecision, PolicyFiles, PolicyInput } from "./policy.ts";
import {
  load,
  fromJson,
  LoadFailure,
  toJsonText,
  type Evaluation,
  type Explanation,
  type Policy,
  type PreparedQuery,
  type RegoPowers,
  type Value,
} from "@ostiary/rego";
import { headPath, pathText, type Location, type Module } from "@ostiary/rego/syntax";
import { RegoObject, RegoSet, typeName } from "@ostiary/rego/values";
import { isArgumentless, isTimeless } from "./timeless.ts";

export type Switches = Readonly<Record<string, { readonly enabled: boolean }>>;

/** How long one evaluation may take; one that exceeds it counts as no decision. */
export interface Bounds {
  readonly deadlineMs: number;
  readonly maxSteps: number;
}

export interface SetOptions extends Bounds {
  readonly version: string;
  /** Of the rule that decides: `ostiary/tools/allow`. */
  readonly path: string;
  readonly now: () => number;
}

/** `data.tools` is ours: which tools are switched on. */
const TOOLS = "tools";
/** No network and no environment: a policy that needs them is refused when it is loaded. */
const GRANTED = ["nowNs", "randomBytes", "crypto"] as const;

export function regoPowers(now: () => number): RegoPowers {
  return {
    nowNs: () => BigInt(now()) * 1_000_000n,
    randomBytes: (n) => randomBytes(n),
    crypto: nodeCrypto,
  };
}

/** Compiles the modules, with or without their tests; every fault of every file. */
export async function compileSet(
  files: PolicyFiles,
  { withTests }: { withTests: boolean },
): Promise<
  { policy: Policy; data: RegoObject; modules: PolicyFiles } | { faults: readonly DocumentFault[] }
> {
  const { modules, tests, data, faults } = partsOf(files);
  const inFile = faults.map(({ file, message }) => ({ file, line: 1, column: 1, message }));
  if (data.has(TOOLS))
    inFile.push({
      file: "data",
      line: 1,
      column: 1,
      message:
        "data.tools holds which tools are switched on and is kept by the server; use another name",
    });
  const compiled = await load(withTests ? { ...modules, ...tests } : modules, {
    granted: GRANTED,
  });
  if (!compiled.ok)
    return {
      faults: [
        ...inFile,
        ...compiled.errors.map(({ file, line, column, code, message }) => ({
          file,
          line,
          column,
          message: `${code}: ${message}`,
        })),
      ],
    };
  for (const { path, packageLoc, file } of compiled.policy.modules)
    if (path[0] === TOOLS)
      inFile.push({
        file,
        line: packageLoc.line,
        column: packageLoc.column,
        message: "the package tools would hide data.tools; use another name",
      });
  if (inFile.length > 0) return { faults: inFile };
  return { policy: compiled.policy, data, modules };
}

/** Faults when it does not compile, or when nothing is defined at the path. */
export async function openPolicySet(
  files: PolicyFiles,
  options: SetOptions,
): Promise<PolicySet | { readonly faults: readonly DocumentFault[] }> {
  const compiled = await compileSet(files, { withTests: false });
  if ("faults" in compiled) return compiled;
  const path = options.path.split("/");
  const [first] = rulesAt(compiled.policy.modules, path);
  if (!first)
    return {
      faults: [
        {
          file: Object.keys(compiled.modules)[0] ?? "",
          line: 1,
          column: 1,
          message: `no rule defines ${pathText(path)}, which is asked for every decision (setting policyPath)`,
        },
      ],
    };
  try {
    return new PolicySet(compiled, path, first, options);
  } catch (cause) {
    if (!(cause instanceof LoadFailure)) throw cause;
    return { faults: cause.errors };
  }
}

function rulesAt(modules: readonly Module[], path: readonly string[]): Location[] {
  const name = pathText(path);
  return modules.flatMap((module) =>
    module.rules.filter((rule) => pathText(headPath(module, rule)) === name).map(({ loc }) => loc),
  );
}

export class PolicySet {
  readonly version: string;
  readonly timeless: boolean;
  readonly argumentless: boolean;
  /** Without tests and data. */
  readonly modules: PolicyFiles;
  /** Without `tools`. */
  readonly data: RegoObject;
  /** Of the sentences; null when the package has none. */
  readonly reasonsPath: readonly string[] | null;
  /** Differs whenever anything that decides differs, but for the switches of tools. */
  readonly mark: string;
  readonly #path: readonly string[];
  /** Where the rule that is asked is written first. */
  readonly #first: Location;
  readonly #policy: Policy;
  readonly #allow: PreparedQuery;
  readonly #reasons: PreparedQuery | null;
  readonly #powers: RegoPowers;
  readonly #bounds: Bounds;
  readonly #yes: PolicyDecision;
  #whole: RegoObject;

  constructor(
    compiled: { policy: Policy; data: RegoObject; modules: PolicyFiles },
    path: readonly string[],
    first: Location,
    { version, now, deadlineMs, maxSteps }: SetOptions,
  ) {
    const { policy } = compiled;
    const reasons = [...path.slice(0, -1), "reasons"];
    this.version = version;
    this.modules = compiled.modules;
    this.data = compiled.data;
    this.mark = `${version}:${hashOf([path, compiled.modules, toJsonText(compiled.data)])}`;
    this.timeless = isTimeless(policy.modules);
    this.argumentless = isArgumentless(policy.modules);
    this.reasonsPath = rulesAt(policy.modules, reasons).length > 0 ? reasons : null;
    this.#path = path;
    this.#first = first;
    this.#policy = policy;
    this.#allow = policy.prepare(pathText(path));
    this.#reasons = this.reasonsPath && policy.prepare(pathText(reasons));
    this.#powers = regoPowers(now);
    this.#bounds = { deadlineMs, maxSteps };
    this.#yes = Object.freeze({ allow: true, reasons: Object.freeze([]), version });
    this.#whole = compiled.data.with(TOOLS, RegoObject.EMPTY);
  }

  setTools(tools: Switches): void {
    this.#whole = this.data.with(TOOLS, fromJson(tools));
  }

  /** Throws when the evaluation fails: then nothing was decided. */
  decide(input: PolicyInput, explain: boolean): PolicyDecision {
    const { value } = this.#ask(this.#allow, input, false);
    if (value === true) return explain ? { ...this.#yes, ...this.approval(input) } : this.#yes;
    return { allow: false, version: this.version, ...this.refusal(value, input, explain) };
  }

  /**
   * A result of the wrong type would refuse everything silently, and an allow without a caller everything: both are
   * faults.
   */
  probe(): readonly DocumentFault[] {
    const { file, line, column } = this.#first;
    const fault = (message: string): DocumentFault[] => [{ file, line, column, message }];
    try {
      const { value } = this.#ask(this.#allow, NOBODY, false);
      if (value === true)
        return fault(
          "an empty input is allowed, so every caller may do everything; refuse what no rule allows",
        );
      const strange = strangeAnswer(this.#path, value);
      return strange === null
        ? []
        : fault(
            `${strange}, which is empty; it must be false (write \`default ${this.#path.at(-1)} := false\`)`,
          );
    } catch (cause) {
      return fault((cause as Error).message);
    }
  }

  /** The sentences of a no, and where it comes from. `answer` is what the path yielded. */
  refusal(
    answer: Value | undefined,
    input: PolicyInput,
    explain: boolean,
  ): Pick<PolicyDecision, "reasons" | "rule" | "ruleText" | "read"> {
    const strange = strangeAnswer(this.#path, answer);
    const given = strange === null && this.#reasons ? this.#ask(this.#reasons, input, true) : null;
    const reasons = strange === null ? sentences(given?.value) : [strange];
    const place = given && this.reasonsPath && reasonRule(given.explanation, this.reasonsPath);
    if (place && !explain) return { reasons, rule: placeOf(place) };
    const { explanation } = this.#ask(this.#allow, input, true);
    const at = place ?? refusingRule(explanation, this.#path) ?? this.#first;
    if (!explain) return { reasons, rule: placeOf(at) };
    return {
      reasons,
      ...this.#traced(at, [...(given?.explanation.visits ?? []), ...explanation.visits], input),
    };
  }

  /** The rule that allowed it. */
  approval(input: PolicyInput): Pick<PolicyDecision, "rule" | "ruleText" | "read"> {
    const { explanation } = this.#ask(this.#allow, input, true);
    const at = allowingRule(explanation, this.#path) ?? this.#first;
    return this.#traced(at, explanation.visits, input);
  }

  #traced(at: Location, visits: Explanation["visits"], input: PolicyInput) {
    const { modules } = this.#policy;
    const text = ruleText(modules, at);
    const read = partsRead(modules, visits, { input: fromJson(input), data: this.#whole });
    return { rule: placeOf(at), ...(text === undefined ? {} : { ruleText: text }), read };
  }

  #ask(query: PreparedQuery, input: PolicyInput, explain: boolean): Answered {
    const { deadlineMs, maxSteps } = this.#bounds;
    const evaluation: Evaluation = query.evaluate({
      input,
      data: this.#whole,
      powers: this.#powers,
      deadlineMs,
      maxSteps,
      explain,
    });
    if (!evaluation.ok) throw new Error(`policy ${this.version}: ${evaluation.error.message}`);
    return evaluation as Answered;
  }
}

/** `explanation` is there whenever it was asked for. */
interface Answered {
  readonly value: Value | undefined;
  readonly explanation: Explanation;
}

const hashOf = (parts: unknown): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("hex");

/** Nothing is known about this caller: what it is allowed, every caller is. */
const NOBODY = {} as PolicyInput;

const placeOf = ({ file, line }: Location): string => `${file}:${line}`;

/** Anything but true and false denies, with that as its reason. */
function strangeAnswer(path: readonly string[], answer: Value | undefined): string | null {
  if (answer === undefined) return `${pathText(path)} is undefined for this input`;
  if (typeof answer === "boolean") return null;
  // As JSON has it, which knows no sets: an OPA server says the same.
  const type = typeName(answer).replace("set", "array");
  return `${pathText(path)} is a value of type ${type}, not true or false`;
}

export function sentences(value: Value | undefined): readonly string[] {
  const items =
    value instanceof RegoSet
      ? value.items()
      : Array.isArray(value)
        ? (value as readonly Value[])
        : value === undefined
          ? []
          : [value];
  return items.map((item) => (typeof item === "string" ? item : toJsonText(item)));
}
