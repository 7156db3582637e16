// Form fields with label, hint and fault.
import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from "react";
import { cx } from "./class-names.ts";

const CONTROL =
  "w-full rounded-md border border-strong-line/70 bg-surface px-2.5 py-1.5 text-text placeholder:text-muted disabled:opacity-60";

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  /** What is wrong with the value, and what was expected. */
  readonly fault?: string | undefined;
  /** The label is read out only. */
  readonly hideLabel?: boolean;
  readonly className?: string;
}

function Field({
  label,
  hint,
  fault,
  hideLabel,
  className,
  children,
}: FieldProps & {
  readonly children: (ids: {
    id: string;
    "aria-describedby": string | undefined;
    "aria-invalid": true | undefined;
  }) => ReactNode;
}) {
  const id = useId();
  const noteId = `${id}-note`;
  const hasNote = hint !== undefined || fault !== undefined;
  return (
    <div className={cx("flex min-w-0 flex-col gap-1", className)}>
      <label htmlFor={id} className={hideLabel ? "sr-only" : "text-[13px] font-medium"}>
        {label}
      </label>
      {children({
        id,
        "aria-describedby": hasNote ? noteId : undefined,
        "aria-invalid": fault === undefined ? undefined : true,
      })}
      {hasNote ? (
        <p id={noteId} className={cx("text-xs", fault === undefined ? "text-muted" : "text-deny")}>
          {fault ?? hint}
        </p>
      ) : null}
    </div>
  );
}

export function TextField({
  label,
  hint,
  fault,
  hideLabel,
  className,
  ...input
}: FieldProps & Omit<InputHTMLAttributes<HTMLInputElement>, "className">) {
  return (
    <Field {...({ label, hint, fault, hideLabel, className } as FieldProps)}>
      {(ids) => (
        <input
          type="text"
          autoComplete="off"
          spellCheck={false}
          {...input}
          {...ids}
          className={cx(CONTROL, "h-8.5")}
        />
      )}
    </Field>
  );
}

export function TextArea({
  label,
  hint,
  fault,
  hideLabel,
  className,
  mono,
  ...input
}: FieldProps &
  Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, "className"> & { readonly mono?: boolean }) {
  return (
    <Field {...({ label, hint, fault, hideLabel, className } as FieldProps)}>
      {(ids) => (
        <textarea
          rows={3}
          {...input}
          {...ids}
          className={cx(CONTROL, mono && "font-mono text-[12.5px]")}
        />
      )}
    </Field>
  );
}

export function Select({
  label,
  hint,
  fault,
  hideLabel,
  className,
  options,
  ...input
}: FieldProps &
  Omit<SelectHTMLAttributes<HTMLSelectElement>, "className"> & {
    readonly options: readonly (readonly [value: string, label: string])[];
  }) {
  return (
    <Field {...({ label, hint, fault, hideLabel, className } as FieldProps)}>
      {(ids) => (
        <select {...input} {...ids} className={cx(CONTROL, "h-8.5")}>
          {options.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function Check({
  label,
  hint,
  ...input
}: { readonly label: ReactNode; readonly hint?: string } & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <label className="flex min-h-6 items-start gap-2">
      <input type="checkbox" {...input} className="mt-0.5 size-4 accent-(--accent)" />
      <span>
        {label}
        {hint === undefined ? null : <span className="block text-xs text-muted">{hint}</span>}
      </span>
    </label>
  );
}
