import { RegoSet } from "../values/value.ts";
import type { RegoObject, Value } from "../values/value.ts";
import { valueText } from "../values/text.ts";
import { ANY, STRING, objectOf } from "../types/type.ts";
import type { Builtin, BuiltinContext } from "./builtin.ts";
import { badOperand, fail, fn, object } from "./operands.ts";
import type { Args } from "./operands.ts";

const REQUIRED = RegoSet.of(["method", "url"]);

const ALLOWED = RegoSet.of([
  "method",
  "url",
  "body",
  "enable_redirect",
  "force_json_decode",
  "force_yaml_decode",
  "headers",
  "raw_body",
  "tls_use_system_certs",
  "tls_ca_cert",
  "tls_ca_cert_file",
  "tls_ca_cert_env_variable",
  "tls_client_cert",
  "tls_client_cert_file",
  "tls_client_cert_env_variable",
  "tls_client_key",
  "tls_client_key_file",
  "tls_client_key_env_variable",
  "tls_insecure_skip_verify",
  "tls_server_name",
  "timeout",
  "cache",
  "force_cache",
  "force_cache_duration_seconds",
  "raise_error",
  "caching_mode",
  "max_retry_attempts",
  "cache_ignored_headers",
]);

export function checkRequest(request: RegoObject): void {
  const invalid = RegoSet.of(request.keys().filter((key) => !ALLOWED.has(key)));
  if (invalid.size > 0) badOperand(1, `invalid request parameters(s): ${valueText(invalid)}`);
  const missing = RegoSet.of(REQUIRED.items().filter((key) => !request.has(key)));
  if (missing.size > 0)
    badOperand(1, `missing required request parameters(s): ${valueText(missing)}`);
}

/** The same request is sent once per query. */
function send(args: Args, ctx: BuiltinContext): Value {
  const request = object(args, 1);
  checkRequest(request);
  const key = `http.send ${valueText(request)}`;
  const known = ctx.cache.get(key);
  if (known !== undefined) return known as Value;
  const power = ctx.powers.http ?? fail("no network access was granted");
  const response = power(request);
  ctx.cache.set(key, response);
  return response;
}

export const HTTP: readonly Builtin[] = [
  fn("http.send", [objectOf(STRING, ANY)], objectOf(ANY, ANY), send, {
    needs: "http",
    nondeterministic: true,
  }),
];
