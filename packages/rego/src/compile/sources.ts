// From source texts to a policy, with the built-ins that the entry offers.
import { CORE_BUILTINS } from "../builtins/core.ts";
import { LoadFailure } from "../errors.ts";
import { BoundedMemo } from "../evaluate/memo.ts";
import { Policy } from "../evaluate/policy.ts";
import { parseModule } from "../parse/module.ts";
import { fromJson } from "../values/json.ts";
import { RegoObject } from "../values/value.ts";
import { compileModules } from "./compile.ts";
import type { Builtin, PowerName } from "../builtins/builtin.ts";
import type { LoadError } from "../errors.ts";
import type { Module, RegoVersion } from "../syntax/ast.ts";

export interface CompileOptions {
  /** How modules are read that do not name a version themselves. */
  readonly version?: RegoVersion;
  readonly data?: Readonly<Record<string, unknown>>;
  /** More built-in functions, or others in place of ours. */
  readonly builtins?: readonly Builtin[];
  /**
   * The powers that evaluations will be given. When this is set, a policy that calls a built-in
   * needing another power is refused here rather than failing when it runs.
   */
  readonly granted?: readonly PowerName[];
}

export type CompileResult =
  | { readonly ok: true; readonly policy: Policy }
  | { readonly ok: false; readonly errors: readonly LoadError[] };

export type Sources = Readonly<Record<string, string>>;

const MAX_MEMO = 1_000;

export function compileSources(
  sources: Sources,
  offered: readonly Builtin[],
  options: CompileOptions,
): CompileResult {
  const errors: LoadError[] = [];
  const modules = parseSources(sources, options, errors);
  return errors.length > 0 ? { ok: false, errors } : compileParsed(modules, offered, options);
}

/** The modules that parse; what is wrong with the others is added to `errors`. */
export function parseSources(
  sources: Sources,
  { version = "v1" }: CompileOptions,
  errors: LoadError[],
): readonly Module[] {
  const parsed: Module[] = [];
  for (const [file, source] of Object.entries(sources)) {
    collect(errors, file, () => parsed.push(parseModule(file, source, version)));
  }
  return parsed;
}

export function compileParsed(
  modules: readonly Module[],
  offered: readonly Builtin[],
  options: CompileOptions,
): CompileResult {
  const { version = "v1", data = {}, builtins = [] } = options;
  const all = [...offered, ...CORE_BUILTINS, ...builtins];
  const known = new Map(all.map((builtin) => [builtin.name, builtin]));
  const granted = options.granted && new Set(options.granted);
  const [first] = modules;
  const errors: LoadError[] = [];
  let policy: Policy | undefined;
  collect(errors, first?.file ?? "", () => {
    const compiled = compileModules(modules, known, granted);
    const value = fromJson(data);
    policy = new Policy(
      { compiled, version, memo: new BoundedMemo(MAX_MEMO) },
      value instanceof RegoObject ? value : RegoObject.EMPTY,
    );
  });
  return policy ? { ok: true, policy } : { ok: false, errors };
}

/** Runs `work` and adds what is wrong with the policy to `errors`; any other error is thrown. */
export function collect(errors: LoadError[], file: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (error instanceof LoadFailure) errors.push(...error.errors);
    else if (error instanceof RangeError) {
      // The stack is the last bound on nesting that no counter covers, such as a long chain of else.
      errors.push({
        code: "rego_compile_error",
        file,
        line: 1,
        column: 1,
        message: "nested too deeply",
      });
    } else throw error;
  }
}
