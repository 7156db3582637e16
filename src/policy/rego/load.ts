// From source texts to a policy, with whatever built-ins the entry offers.
import { compileModules } from "./compile.ts";
import { CORE_BUILTINS } from "./core-builtins.ts";
import { LoadFailure } from "./errors.ts";
import { fromJson } from "./json.ts";
import { BoundedMemo } from "./memo.ts";
import { parseModule } from "./parse.ts";
import { Policy } from "./policy.ts";
import { RegoObject } from "./value.ts";
import type { Builtin, PowerName } from "./builtins/builtin.ts";
import type { LoadError } from "./errors.ts";
import type { Module, RegoVersion } from "./ast.ts";

export interface CompileOptions {
  /** How modules are read that do not say so themselves. */
  readonly version?: RegoVersion;
  readonly data?: Readonly<Record<string, unknown>>;
  /** More built-in functions, or others in place of ours. */
  readonly builtins?: readonly Builtin[];
  /**
   * The powers evaluations will be given. When said, a policy that calls a built-in needing another
   * one is refused here rather than failing when it runs.
   */
  readonly granted?: readonly PowerName[];
}

export type CompileResult =
  | { readonly ok: true; readonly policy: Policy }
  | { readonly ok: false; readonly errors: readonly LoadError[] };

const MAX_MEMO = 1_000;

export function load(
  modules: Readonly<Record<string, string>>,
  offered: readonly Builtin[],
  options: CompileOptions,
): CompileResult {
  const { version = "v1", data = {}, builtins = [] } = options;
  const parsed: Module[] = [];
  const errors: LoadError[] = [];
  for (const [file, source] of Object.entries(modules)) {
    collect(errors, file, () => parsed.push(parseModule(file, source, version)));
  }
  if (errors.length > 0) return { ok: false, errors };
  const all = [...offered, ...CORE_BUILTINS, ...builtins];
  const known = new Map(all.map((builtin) => [builtin.name, builtin]));
  const granted = options.granted && new Set(options.granted);
  const [first] = parsed;
  let policy: Policy | undefined;
  collect(errors, first?.file ?? "", () => {
    const compiled = compileModules(parsed, known, granted);
    const value = fromJson(data);
    policy = new Policy(
      { compiled, version, memo: new BoundedMemo(MAX_MEMO) },
      value instanceof RegoObject ? value : RegoObject.EMPTY,
    );
  });
  return policy ? { ok: true, policy } : { ok: false, errors };
}

function collect(errors: LoadError[], file: string, work: () => void): void {
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
