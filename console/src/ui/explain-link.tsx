import { Link } from "@tanstack/react-router";
import { CircleHelp } from "lucide-react";
import type { ReactNode } from "react";

/** One click from a refusal to why: of a past call by its id, or of a planned one. */
export function ExplainLink({
  execution,
  tool,
  arguments: args,
  as,
  children = "Why?",
}: {
  readonly execution?: string | undefined;
  readonly tool?: string | undefined;
  readonly arguments?: Readonly<Record<string, unknown>> | undefined;
  /** A user or key, for administrators. */
  readonly as?: string | undefined;
  readonly children?: ReactNode;
}) {
  const search =
    execution === undefined
      ? { tool, arguments: args === undefined ? undefined : { ...args }, as }
      : { execution };
  return (
    <Link to="/explain" search={search} className="inline-flex min-h-6 items-center gap-1">
      <CircleHelp size={14} aria-hidden />
      {children}
    </Link>
  );
}
