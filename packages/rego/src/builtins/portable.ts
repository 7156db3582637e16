// The built-ins that need nothing but JavaScript: what the entry for browsers offers.
import { AGGREGATES } from "./aggregates.ts";
import { ARRAYS } from "./arrays.ts";
import { BITS } from "./bits.ts";
import type { Builtin } from "./builtin.ts";
import { COMPARISON } from "./comparison.ts";
import { CONVERSIONS } from "./conversions.ts";
import { ENCODING } from "./encoding.ts";
import { GRAPH_BUILTINS } from "./graph.ts";
import { JSON_BUILTINS } from "./json/json.ts";
import { JSON_PATCH } from "./json/patch.ts";
import { JSON_PATHS } from "./json/paths.ts";
import { NET } from "./net/net.ts";
import { NUMBERS } from "./numbers.ts";
import { OBJECTS } from "./objects.ts";
import { OUTPUT } from "./output.ts";
import { GLOB } from "./patterns/glob.ts";
import { REGEX } from "./patterns/regex.ts";
import { SEMVER } from "./semver.ts";
import { SETS } from "./sets.ts";
import { STRINGS } from "./strings.ts";
import { TIME } from "./time.ts";
import { TYPES } from "./types.ts";
import { UNITS } from "./units.ts";
import { UUID } from "./uuid.ts";

export const PORTABLE_BUILTINS: readonly Builtin[] = [
  ...COMPARISON,
  ...NUMBERS,
  ...AGGREGATES,
  ...ARRAYS,
  ...SETS,
  ...OBJECTS,
  ...STRINGS,
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
  ...TIME,
  ...UUID,
  ...SEMVER,
  ...NET,
  ...GRAPH_BUILTINS,
  ...OUTPUT,
];
