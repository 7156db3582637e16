// A link by its whole address, search parameters included, also to pages whose parameters are not known here.
import { useRouter } from "@tanstack/react-router";
import type { AnchorHTMLAttributes } from "react";

export function HrefLink({
  href,
  ...rest
}: Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href"> & { readonly href: string }) {
  const { history } = useRouter();
  return (
    <a
      {...rest}
      href={href}
      onClick={(event) => {
        rest.onClick?.(event);
        const opensElsewhere = event.ctrlKey || event.metaKey || event.shiftKey || event.button > 0;
        if (event.defaultPrevented || opensElsewhere) return;
        event.preventDefault();
        history.push(href);
      }}
    />
  );
}
