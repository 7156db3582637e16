// An id that leads to its record, with a button that copies it.
import { Link } from "@tanstack/react-router";
import { Copy } from "./copy.tsx";

const PAGES = {
  execution: "/executions",
  approval: "/approvals",
  tool: "/tools",
  server: "/servers",
} as const;

export function RecordLink({
  kind,
  id,
  copy = true,
}: {
  readonly kind: keyof typeof PAGES;
  readonly id: string;
  readonly copy?: boolean;
}) {
  const address: string = `${PAGES[kind]}/${id}`;
  return (
    <span className="inline-flex max-w-full min-w-0 items-center gap-1 align-middle">
      <Link to={address} className="min-w-0 truncate font-mono text-[12.5px]">
        {id}
      </Link>
      {copy ? <Copy text={id} label={`Copy ${id}`} /> : null}
    </span>
  );
}
