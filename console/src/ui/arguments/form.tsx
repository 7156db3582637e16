// A form made from a JSON Schema.
// Not the whole package: its test helpers want a validator that makes code.
import Form from "@rjsf/core/lib/components/Form.js";
import type { ErrorSchema, RJSFSchema, ValidatorType } from "@rjsf/utils";
import { useMemo } from "react";
import type { FieldFault } from "../../api/failure.ts";
import { isValid } from "./faults.ts";
import { formSchema } from "./form-schema.ts";
import type { Arguments } from "./parse.ts";
import { templates } from "./templates.tsx";
import { widgets } from "./widgets.tsx";

/** Faults come from outside (`faults`), because the whole schema is judged and not what the form shows of it. */
const validator: ValidatorType = {
  validateFormData: () => ({ errors: [], errorSchema: {} }),
  isValid,
  rawValidation: () => ({ errors: [] }),
};

export function SchemaForm({
  schema,
  value,
  onChange,
  faults,
}: {
  readonly schema: Readonly<Arguments>;
  readonly value: Readonly<Arguments>;
  readonly onChange: (value: Arguments) => void;
  readonly faults: readonly FieldFault[];
}) {
  const shown = useMemo(() => formSchema(schema) as RJSFSchema, [schema]);
  const errors = useMemo(() => errorSchemaOf(faults), [faults]);
  return (
    <Form
      tagName="div"
      idPrefix="arg"
      schema={shown}
      formData={value}
      validator={validator}
      templates={templates}
      widgets={widgets}
      extraErrors={errors}
      noValidate
      noHtml5Validate
      showErrorList={false}
      experimental_defaultFormStateBehavior={{
        emptyObjectFields: "skipDefaults",
        arrayMinItems: { populate: "never" },
      }}
      onChange={({ formData }) => onChange(withoutUndefined(formData ?? {}) as Arguments)}
    >
      <></>
    </Form>
  );
}

function errorSchemaOf(faults: readonly FieldFault[]): ErrorSchema {
  const root: Record<string, unknown> = {};
  for (const { path, message, suggestion } of faults) {
    let node = root;
    for (const part of path.split("/").slice(1)) {
      const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
      if (!Object.hasOwn(node, key)) node[key] = {};
      node = node[key] as Record<string, unknown>;
    }
    const said = suggestion === undefined ? message : `${message} (${suggestion})`;
    node["__errors"] = [...((node["__errors"] as string[] | undefined) ?? []), said];
  }
  return root as ErrorSchema;
}

/** A field that was emptied is left out of the arguments. */
function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, one]) => one !== undefined)
      .map(([key, one]) => [key, withoutUndefined(one)]),
  );
}
