// Entry point: JSON and YAML texts as values, read as OPA reads data files. Numbers keep every digit.
export { JsonError, parseJson } from "./go/json.ts";
export { parseYaml } from "./go/yaml.ts";
export { DataFault, parseDocument, withDocument } from "./data-files.ts";
