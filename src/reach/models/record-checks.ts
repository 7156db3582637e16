// What administrators send as a model is checked together with the other models: a fallback names one of them.
import type { JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { ModelRow } from "../../storage/store/store.ts";
import { modelsConfig } from "./config.ts";

/** As administrators send it. */
interface SentModel {
  readonly name: string;
  readonly settings: JsonObject;
  readonly keyReference?: string | null;
}

interface FieldError {
  readonly path: string;
  readonly message: string;
}

/** A model's key and nothing else of the server's environment. */
const REFERENCE = /^env:(?!OSTIARY_)[A-Z][A-Z0-9_]{0,120}(?:_KEY|_TOKEN)$/;
const EXPECTED_REFERENCE =
  "expected env: and a variable whose name ends in _KEY or _TOKEN and does not begin with OSTIARY_";

/** The settings of one model as they would be stored, among all `rows` of its tenant. */
export function checkModel(
  rows: readonly ModelRow[],
  name: string,
  settings: JsonObject,
): JsonObject {
  const others = rows.filter((row) => row.name !== name);
  const parsed = modelsConfig.safeParse({ ...settingsOf(others), [name]: withoutKey(settings) });
  if (parsed.success) return parsed.data[name] as unknown as JsonObject;
  throw invalid(
    parsed.error.issues.map(({ path: [model, ...path], message }) => ({
      path: model === name ? `/settings/${path.join("/")}` : `/settings (of ${String(model)})`,
      message,
    })),
  );
}

/** The same for several models that come together; throws with every fault. */
export function checkModels(
  rows: readonly ModelRow[],
  models: readonly SentModel[],
): readonly JsonObject[] {
  const others = rows.filter((row) => !models.some(({ name }) => name === row.name));
  const parsed = modelsConfig.safeParse({
    ...settingsOf(others),
    ...Object.fromEntries(models.map(({ name, settings }) => [name, withoutKey(settings)])),
  });
  const faults: FieldError[] = (parsed.error?.issues ?? []).map(
    ({ path: [model, ...path], message }) => ({
      path: `/${String(model)}/settings${path.map((part) => `/${String(part)}`).join("")}`,
      message,
    }),
  );
  for (const { name, keyReference = null } of models)
    if (keyReference !== null && !REFERENCE.test(keyReference))
      faults.push({ path: `/${name}/keyReference`, message: EXPECTED_REFERENCE });
  if (!parsed.success || faults.length > 0) throw invalid(faults);
  return models.map(({ name }) => parsed.data[name] as unknown as JsonObject);
}

export function requireOneKey(apiKey: string | undefined, reference: string | null): void {
  if (reference === null) return;
  if (apiKey !== undefined)
    throw invalid([
      { path: "/keyReference", message: "expected apiKey or keyReference, not both" },
    ]);
  if (!REFERENCE.test(reference))
    throw invalid([{ path: "/keyReference", message: EXPECTED_REFERENCE }]);
}

export function withoutKey({ apiKey: _apiKey, ...settings }: JsonObject): JsonObject {
  return settings;
}

const settingsOf = (rows: readonly ModelRow[]): JsonObject =>
  Object.fromEntries(rows.map((row) => [row.name, row.settings]));

function invalid(errors: readonly FieldError[]): AppError {
  const [first] = errors;
  return new AppError("BAD_REQUEST", "invalid_input", `${first?.path}: ${first?.message}`, {
    remedy: "correct the fields listed in errors",
    errors,
  });
}
