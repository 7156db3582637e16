import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

/** A link to a page that another module owns, by its address, e.g. `/approvals/apr_1`. */
export function PathLink({
  to,
  className,
  children,
}: {
  readonly to: string;
  readonly className?: string;
  readonly children: ReactNode;
}) {
  // The router types the addresses of its own routes only.
  return (
    <Link to={to as "/"} {...(className === undefined ? {} : { className })}>
      {children}
    </Link>
  );
}
