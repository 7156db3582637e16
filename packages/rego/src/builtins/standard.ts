// The built-ins of every policy. The rest are in groups, loaded when a policy mentions them: groups.ts.
import { AWS } from "./aws.ts";
import type { Builtin } from "./builtin.ts";
import { CRYPTO } from "./crypto.ts";
import { HTTP } from "./http.ts";
import { PORTABLE_BUILTINS } from "./portable.ts";
import { JWT } from "./tokens/jwt.ts";

export const STANDARD_BUILTINS: readonly Builtin[] = [
  ...PORTABLE_BUILTINS,
  ...CRYPTO,
  ...JWT,
  ...AWS,
  ...HTTP,
];
