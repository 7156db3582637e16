// Pages and parts that only administrators have.
import type { ReactNode } from "react";
import { ButtonLink } from "../ui/button.tsx";
import { Page } from "../ui/page.tsx";
import { Empty } from "../ui/states.tsx";
import { useIsAdmin } from "./session.tsx";

export function AdminOnly({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ReactNode;
}) {
  const isAdmin = useIsAdmin();
  if (isAdmin) return <>{children}</>;
  return (
    <Page title={title}>
      <Empty
        title="Only administrators see this page"
        text="Your key or sign-in has the role user. Ask an administrator of your tenant."
        action={
          <ButtonLink to="/" look="primary">
            Go to Home
          </ButtonLink>
        }
      />
    </Page>
  );
}
