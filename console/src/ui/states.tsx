// Loading, empty, filtered to nothing and failed are four different screens.
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { failureOf } from "../api/failure.ts";
import { Button } from "./button.tsx";
import { cx } from "./class-names.ts";
import { Copy } from "./copy.tsx";

/** A grey area of the size of what is being loaded, so that nothing moves when it arrives. */
export function Skeleton({ className }: { readonly className?: string }) {
  return (
    <div
      role="status"
      aria-label="Loading"
      className={cx("animate-pulse rounded-md bg-raised", className ?? "h-24 w-full")}
    />
  );
}

/** What will appear here, the one action that fills it, and the command for it. */
export function Empty({
  title,
  text,
  action,
  command,
}: {
  readonly title: string;
  readonly text?: ReactNode;
  readonly action?: ReactNode;
  readonly command?: string;
}) {
  return (
    <div className="flex flex-col items-center gap-2 px-4 py-10 text-center" data-state="empty">
      <p className="font-medium">{title}</p>
      {text === undefined ? null : <p className="max-w-prose text-muted">{text}</p>}
      {action}
      {command === undefined ? null : (
        <p className="flex max-w-full items-center gap-1 text-muted">
          {action === undefined ? null : <span className="shrink-0">or</span>}
          <code className="min-w-0 rounded bg-raised px-1.5 py-0.5 wrap-anywhere text-text">
            {command}
          </code>
          <Copy text={command} label="Copy the command" />
        </p>
      )}
    </div>
  );
}

export function Failed({ cause, retry }: { readonly cause: unknown; readonly retry?: () => void }) {
  const { message, remedy, requestId, code, reason } = failureOf(cause);
  const codes = [code, reason].filter((part) => part !== undefined).join(" / ");
  return (
    <div
      role="alert"
      className="flex flex-col gap-1.5 rounded-lg border border-deny/50 bg-deny-soft p-4"
      data-state="failed"
    >
      <p className="font-medium text-deny">✕ {message}</p>
      {remedy === undefined ? null : <p>{remedy}</p>}
      <p className="flex flex-wrap items-center gap-x-2 text-text">
        <code>{codes}</code>
        {requestId === undefined ? null : (
          <>
            <span>
              request <code>{requestId}</code>
            </span>
            <Copy text={requestId} label="Copy the request id" />
          </>
        )}
      </p>
      {retry ? (
        <div>
          <Button small onClick={retry}>
            Try again
          </Button>
        </div>
      ) : null}
    </div>
  );
}

/** Shows what a query has: its data, a skeleton of the same size, or why it failed. */
export function Loaded<T>({
  query,
  skeleton,
  children,
}: {
  readonly query: UseQueryResult<T>;
  readonly skeleton?: ReactNode;
  readonly children: (data: T) => ReactNode;
}) {
  if (query.isSuccess || query.data !== undefined) return <>{children(query.data as T)}</>;
  if (query.isError) return <Failed cause={query.error} retry={() => void query.refetch()} />;
  return <>{skeleton ?? <Skeleton />}</>;
}
