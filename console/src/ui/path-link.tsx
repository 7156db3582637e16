// A link to any page of the console by its address, also to pages whose parameters are not known here.
import { useRouter } from "@tanstack/react-router";
import type { AnchorHTMLAttributes } from "react";

export function PathLink({
  path,
  ...rest
}: Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href"> & { readonly path: string }) {
  const { history } = useRouter();
  return (
    <a
      {...rest}
      href={path}
      onClick={(event) => {
        rest.onClick?.(event);
        const opensElsewhere = event.ctrlKey || event.metaKey || event.shiftKey || event.button > 0;
        if (event.defaultPrevented || opensElsewhere) return;
        event.preventDefault();
        history.push(path);
      }}
    />
  );
}
