// All built-in functions, by category.
import { AGGREGATES } from "./aggregates.ts";
import { ARRAYS } from "./arrays.ts";
import { AWS } from "./aws.ts";
import { BITS } from "./bits.ts";
import type { Builtin } from "./builtin.ts";
import { COMPARISON } from "./comparison.ts";
import { CONVERSIONS } from "./conversions.ts";
import { CRYPTO } from "./crypto.ts";
import { ENCODING } from "./encoding.ts";
import { GLOB } from "./glob.ts";
import { GRAPH_BUILTINS } from "./graph.ts";
import { GRAPHQL } from "./graphql.ts";
import { HTTP } from "./http.ts";
import { JSON_PATCH } from "./json-patch.ts";
import { JSON_PATHS } from "./json-paths.ts";
import { JSON_SCHEMA } from "./json-schema.ts";
import { JSON_BUILTINS } from "./json.ts";
import { JWT } from "./jwt.ts";
import { NET } from "./net.ts";
import { NUMBERS } from "./numbers.ts";
import { OBJECTS } from "./objects.ts";
import { OUTPUT } from "./output.ts";
import { REGEX } from "./regex.ts";
import { SEMVER } from "./semver.ts";
import { SETS } from "./sets.ts";
import { STRINGS } from "./strings.ts";
import { TEMPLATES } from "./templates.ts";
import { TIME } from "./time.ts";
import { TYPES } from "./types.ts";
import { UNITS } from "./units.ts";
import { UUID } from "./uuid.ts";
import { X509 } from "./x509.ts";

export const BUILTINS: readonly Builtin[] = [
  ...COMPARISON,
  ...NUMBERS,
  ...AGGREGATES,
  ...ARRAYS,
  ...SETS,
  ...OBJECTS,
  ...STRINGS,
  ...TEMPLATES,
  ...REGEX,
  ...GLOB,
  ...UNITS,
  ...BITS,
  ...TYPES,
  ...CONVERSIONS,
  ...ENCODING,
  ...JSON_BUILTINS,
  ...JSON_PATHS,
  ...JSON_PATCH,
  ...JSON_SCHEMA,
  ...TIME,
  ...UUID,
  ...SEMVER,
  ...NET,
  ...GRAPH_BUILTINS,
  ...CRYPTO,
  ...X509,
  ...JWT,
  ...GRAPHQL,
  ...AWS,
  ...HTTP,
  ...OUTPUT,
];
