// A form that waits for the server's answer and shows what is wrong with it.
import type { ReactNode } from "react";
import { type Failure, failureOf } from "../api/failure.ts";
import { Button } from "./button.tsx";

/** What the server says of a field, by its JSON pointer or one below it. */
export function faultsOf(cause: unknown): (path: string) => string | undefined {
  const errors = cause === null || cause === undefined ? [] : (failureOf(cause).errors ?? []);
  return (path) => {
    const found = errors.find((one) => one.path === path || one.path.startsWith(`${path}/`));
    if (!found) return undefined;
    return found.suggestion === undefined ? found.message : `${found.message}: ${found.suggestion}`;
  };
}

export function Form({
  submit,
  onSubmit,
  onCancel,
  busy = false,
  disabled = false,
  danger = false,
  cause,
  actions,
  children,
}: {
  /** What the button says, e.g. "Create key". */
  readonly submit: string;
  readonly onSubmit: () => void;
  readonly onCancel?: () => void;
  readonly busy?: boolean;
  readonly disabled?: boolean;
  readonly danger?: boolean;
  /** Why the last attempt failed. */
  readonly cause?: unknown;
  /** Further buttons, before the last ones. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <form
      className="flex min-w-0 flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
      {cause === null || cause === undefined ? null : <FormFailure failure={failureOf(cause)} />}
      <div className="flex flex-wrap justify-end gap-2">
        {actions}
        {onCancel ? <Button onClick={onCancel}>Cancel</Button> : null}
        <Button type="submit" look={danger ? "danger" : "primary"} busy={busy} disabled={disabled}>
          {submit}
        </Button>
      </div>
    </form>
  );
}

/** Short, for within a form: the message, each field, and what to do. */
export function FormFailure({ failure }: { readonly failure: Failure }) {
  const { message, remedy, requestId, errors = [] } = failure;
  return (
    <div role="alert" className="rounded-md bg-deny-soft px-3 py-2 text-deny">
      <p className="font-medium">✕ {message}</p>
      {errors.length > 1 ? (
        <ul className="list-disc pl-5">
          {errors.map((one) => (
            <li key={`${one.path} ${one.message}`}>
              <code>{one.path || "/"}</code> {one.message}
            </li>
          ))}
        </ul>
      ) : null}
      {remedy === undefined ? null : <p className="text-text">{remedy}</p>}
      {requestId === undefined ? null : (
        <p className="text-xs text-text">
          request <code>{requestId}</code>
        </p>
      )}
    </div>
  );
}
