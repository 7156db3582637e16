// Entry point: Rego values as evaluations take and give them.
export { keyText } from "./values/json.ts";
export { lookup } from "./values/lookup.ts";
export { compare, equal, isArray, Num, RegoObject, RegoSet, typeName } from "./values/value.ts";
export type { TypeName, Value } from "./values/value.ts";
