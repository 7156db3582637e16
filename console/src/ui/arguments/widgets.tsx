// The controls of the form, as the other fields of the console look.
import type { RegistryWidgetsType, WidgetProps } from "@rjsf/utils";
import {
  ariaDescribedByIds,
  enumOptionSelectedValue,
  enumOptionValueDecoder,
  enumOptionValueEncoder,
} from "@rjsf/utils";
import { cx } from "../class-names.ts";
import { visibleText } from "../code.tsx";

export const CONTROL =
  "w-full rounded-md border border-strong-line/70 bg-surface px-2.5 py-1.5 text-text placeholder:text-muted disabled:opacity-60";
/** Longer texts get several lines. */
const ONE_LINE = 4_096;
const MAX_ROWS = 14;

function described({ id, rawErrors = [] }: WidgetProps) {
  return {
    id,
    "aria-describedby": ariaDescribedByIds(id),
    "aria-invalid": rawErrors.length > 0 ? true : undefined,
  };
}

const hintOf = ({ schema }: WidgetProps): string =>
  schema.default === undefined || typeof schema.default === "object" ? "" : String(schema.default);

function TextWidget(props: WidgetProps) {
  const value = props.value as unknown;
  const { onChange, onBlur, id, schema, disabled, readonly, options, label } = props;
  const text =
    typeof value === "string"
      ? value
      : value === undefined || value === null
        ? ""
        : JSON.stringify(value);
  const shared = {
    ...described(props),
    value: text,
    disabled,
    readOnly: readonly,
    "aria-label": label,
    placeholder: hintOf(props),
    spellCheck: false,
    autoComplete: "off",
    onBlur: () => onBlur(id, value),
    onChange: ({ target }: { target: { value: string } }) =>
      onChange(target.value === "" ? options.emptyValue : target.value),
  };
  const isLong = schema.format === undefined && (schema.maxLength ?? Infinity) > ONE_LINE;
  if (!isLong && !text.includes("\n"))
    return <input type="text" {...shared} className={cx(CONTROL, "h-8.5")} />;
  // Items of a list are mostly words.
  const fewest = /_\d+$/.test(id) ? 1 : 2;
  const rows = Math.min(MAX_ROWS, Math.max(fewest, text.split("\n").length));
  return <textarea {...shared} rows={rows} className={cx(CONTROL, "font-mono text-[12.5px]")} />;
}

function NumberWidget(props: WidgetProps) {
  const value = props.value as unknown;
  const { onChange, onBlur, id, schema, disabled, readonly, label } = props;
  return (
    <input
      type="number"
      {...described(props)}
      aria-label={label}
      value={typeof value === "number" ? value : ""}
      disabled={disabled}
      readOnly={readonly}
      min={schema.minimum}
      max={schema.maximum}
      step={schema.type === "integer" ? 1 : "any"}
      placeholder={hintOf(props)}
      className={cx(CONTROL, "h-8.5 max-w-60 tabular-nums")}
      onBlur={() => onBlur(id, value)}
      onChange={({ target }) =>
        onChange(Number.isNaN(target.valueAsNumber) ? undefined : target.valueAsNumber)
      }
    />
  );
}

function CheckboxWidget(props: WidgetProps) {
  const value = props.value as unknown;
  const { onChange, schema, disabled, readonly, label } = props;
  return (
    <label className="flex min-h-6 items-center gap-2">
      <input
        type="checkbox"
        {...described(props)}
        checked={typeof value === "boolean" ? value : schema.default === true}
        disabled={disabled || readonly}
        onChange={({ target }) => onChange(target.checked)}
        className="size-4 accent-(--accent)"
      />
      <span className="text-[13px] font-medium">{visibleText(label)}</span>
    </label>
  );
}

function SelectWidget(props: WidgetProps) {
  const value = props.value as unknown;
  const { onChange, options, multiple = false, disabled, readonly, label, required } = props;
  const { enumOptions = [] } = options;
  const emptyValue = options.emptyValue as unknown;
  const chosen = enumOptionSelectedValue(
    value,
    enumOptions,
    multiple,
    "indexed",
    multiple ? [] : "",
  ) as unknown;
  return (
    <select
      {...described(props)}
      aria-label={label}
      multiple={multiple}
      value={chosen as string | string[]}
      disabled={disabled || readonly}
      className={cx(CONTROL, multiple ? "min-h-24" : "h-8.5", "max-w-md")}
      onChange={({ target }) => {
        const picked = multiple
          ? Array.from(target.selectedOptions, (option) => option.value)
          : target.value;
        onChange(enumOptionValueDecoder(picked, enumOptions, "indexed", emptyValue));
      }}
    >
      {multiple ? null : (
        <option value="">
          {hintOf(props) === "" ? (required ? "choose" : "–") : `${hintOf(props)} (default)`}
        </option>
      )}
      {enumOptions.map((option, at) => (
        <option key={at} value={enumOptionValueEncoder(option.value, at, "indexed")}>
          {visibleText(option.label)}
        </option>
      ))}
    </select>
  );
}

export const widgets: RegistryWidgetsType = {
  TextWidget,
  TextareaWidget: TextWidget,
  EmailWidget: TextWidget,
  URLWidget: TextWidget,
  PasswordWidget: TextWidget,
  DateWidget: TextWidget,
  DateTimeWidget: TextWidget,
  TimeWidget: TextWidget,
  ColorWidget: TextWidget,
  FileWidget: TextWidget,
  UpDownWidget: NumberWidget,
  RangeWidget: NumberWidget,
  CheckboxWidget,
  SelectWidget,
  RadioWidget: SelectWidget,
  CheckboxesWidget: SelectWidget,
};
