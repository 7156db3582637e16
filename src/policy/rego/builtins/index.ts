// All built-in functions, by category.
import type { Builtin } from "./builtin.ts";

export const BUILTINS: readonly Builtin[] = [];
