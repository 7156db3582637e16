import { Link, type LinkProps } from "@tanstack/react-router";
import type { ButtonHTMLAttributes, ReactNode } from "react";
import { cx } from "./class-names.ts";
import { Tip } from "./tip.tsx";

type Look = "primary" | "secondary" | "quiet" | "danger";

const LOOKS: Record<Look, string> = {
  primary: "bg-accent text-on-accent border-transparent hover:brightness-110",
  secondary: "bg-surface text-text border-strong-line/60 hover:bg-raised",
  quiet: "bg-transparent text-text border-transparent hover:bg-raised",
  danger: "bg-surface text-deny border-deny/60 hover:bg-deny-soft",
};

const BASE =
  "inline-flex items-center justify-center gap-1.5 rounded-md border font-medium no-underline transition-colors " +
  "disabled:opacity-50 disabled:pointer-events-none whitespace-nowrap";

const sized = (small: boolean): string =>
  small ? "h-7 px-2 text-[13px]" : "h-8.5 px-3 text-[13.5px]";

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: Look;
  readonly small?: boolean;
  /** Shows that the change is under way, and takes no second click. */
  readonly busy?: boolean;
}

export function Button({ look = "secondary", small, busy, className, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      aria-busy={busy || undefined}
      disabled={rest.disabled || busy}
      className={cx(BASE, LOOKS[look], sized(small ?? false), className)}
    />
  );
}

/** A button that shows a sign only: its name is read out and shown on hover. */
export function IconButton({
  label,
  children,
  ...rest
}: Omit<ButtonProps, "aria-label"> & { readonly label: string; readonly children: ReactNode }) {
  return (
    <Tip text={label}>
      <Button
        look="quiet"
        small
        {...rest}
        aria-label={label}
        className={cx("min-w-7 px-1.5!", rest.className)}
      >
        {children}
      </Button>
    </Tip>
  );
}

/** Looks like a button and goes to a page. */
export function ButtonLink({
  look = "secondary",
  small,
  className,
  ...rest
}: LinkProps & {
  readonly look?: Look;
  readonly small?: boolean;
  readonly className?: string;
  readonly onClick?: () => void;
}) {
  return <Link {...rest} className={cx(BASE, LOOKS[look], sized(small ?? false), className)} />;
}
