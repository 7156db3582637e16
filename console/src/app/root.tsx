// The frame around every page: rail, top bar, banner, content.
import { createRootRoute, Link, Outlet, useNavigate } from "@tanstack/react-router";
import { Keyboard, Menu as MenuIcon, Search } from "lucide-react";
import { useEffect, useState } from "react";
import { Toaster } from "sonner";
import { useLiveState } from "../api/live.ts";
import { IconButton, ButtonLink } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Menu } from "../ui/menu.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Failed } from "../ui/states.tsx";
import { ApprovalAnnouncer, WaitingCount } from "./approvals-badge.tsx";
import { ModeBanner, ModeSwitch } from "./mode.tsx";
import { PAGES, type PageEntry } from "./pages.ts";
import { Palette } from "./palette.tsx";
import { SessionGate, useIsAdmin, useSession } from "./session.tsx";
import { listenForKeys, ShortcutSheet, useShortcut } from "./shortcuts.tsx";
import { ThemeSwitch } from "./theme.tsx";

export const rootRoute = createRootRoute({
  component: () => (
    <SessionGate>
      <Frame />
    </SessionGate>
  ),
  errorComponent: ({ error, reset }) => (
    <div className="p-6">
      <Failed cause={error} retry={reset} />
    </div>
  ),
  notFoundComponent: () => (
    <Page title="Not found">
      <Empty
        title="There is no such page"
        text="The address may be mistyped, or what it names was removed."
        action={
          <ButtonLink to="/" look="primary">
            Go to Home
          </ButtonLink>
        }
      />
    </Page>
  ),
});

function Frame() {
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const [isSheetOpen, setSheetOpen] = useState(false);
  const [isRailOpen, setRailOpen] = useState(false);
  useEffect(listenForKeys, []);
  useShortcut("Mod+k", "Search and commands", () => setPaletteOpen(true));
  useShortcut("?", "This sheet", () => setSheetOpen(true));
  return (
    <div className="flex h-full flex-col">
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-surface focus:p-2"
      >
        Skip to the content
      </a>
      <header className="flex h-12 shrink-0 items-center gap-2 border-b border-line bg-surface px-3">
        <span className="md:hidden">
          <IconButton
            label="Pages"
            aria-expanded={isRailOpen}
            onClick={() => setRailOpen(!isRailOpen)}
          >
            <MenuIcon size={18} aria-hidden />
          </IconButton>
        </span>
        <Link to="/" className="flex items-center gap-2 font-semibold text-text no-underline">
          <img src="/console/icon.svg" alt="" width={22} height={22} />
          <span className="max-sm:sr-only">Ostiary</span>
        </Link>
        <button
          type="button"
          onClick={() => setPaletteOpen(true)}
          className="ml-2 flex h-8 items-center gap-2 rounded-md border border-line bg-page px-2.5 text-left text-muted sm:min-w-0 sm:flex-1 md:max-w-sm"
        >
          <Search size={14} aria-hidden className="shrink-0" />
          <span className="truncate max-sm:sr-only">Search or paste an id</span>
          <kbd className="ml-auto max-sm:hidden">Ctrl K</kbd>
        </button>
        <div className="ml-auto flex items-center gap-1.5">
          <ModeSwitch />
          <LiveBadge />
          <span className="flex max-sm:hidden">
            <IconButton label="Keyboard shortcuts" onClick={() => setSheetOpen(true)}>
              <Keyboard size={16} aria-hidden />
            </IconButton>
          </span>
          <ThemeSwitch />
          <UserMenu />
        </div>
      </header>
      <ModeBanner />
      <div className="flex min-h-0 flex-1">
        <Rail isOpen={isRailOpen} onGo={() => setRailOpen(false)} />
        <main id="content" tabIndex={-1} className="min-w-0 flex-1 overflow-y-auto outline-none">
          <Outlet />
        </main>
      </div>
      <ApprovalAnnouncer />
      <Palette open={isPaletteOpen} onClose={() => setPaletteOpen(false)} />
      <ShortcutSheet open={isSheetOpen} onClose={() => setSheetOpen(false)} />
      <Toaster
        position="bottom-right"
        visibleToasts={4}
        closeButton
        toastOptions={{
          style: { background: "var(--surface)", color: "var(--text)", borderColor: "var(--line)" },
        }}
      />
    </div>
  );
}

function Rail({ isOpen, onGo }: { readonly isOpen: boolean; readonly onGo: () => void }) {
  const isAdmin = useIsAdmin();
  const entries: readonly PageEntry[] = PAGES;
  const shown = entries.filter((page) => isAdmin || !page.adminOnly);
  return (
    <nav
      aria-label="Pages"
      className={cx(
        "shrink-0 overflow-y-auto border-r border-line bg-surface p-2 md:block md:w-48",
        isOpen ? "absolute top-12 bottom-0 left-0 z-30 w-56 shadow-lg md:static" : "hidden",
      )}
    >
      <ul className="flex flex-col gap-0.5">
        {shown.map((page) => (
          <RailEntry key={page.path} page={page} onGo={onGo} />
        ))}
      </ul>
    </nav>
  );
}

function RailEntry({ page, onGo }: { readonly page: PageEntry; readonly onGo: () => void }) {
  const navigate = useNavigate();
  useShortcut(`g ${page.key}`, `Go to ${page.label}`, () => void navigate({ to: page.path }));
  const Icon = page.icon;
  return (
    <li>
      <Link
        to={page.path}
        onClick={onGo}
        activeOptions={{ exact: page.path === "/" }}
        className="flex h-8 items-center gap-2.5 rounded-md px-2.5 text-text no-underline hover:bg-raised data-[status=active]:bg-accent-soft data-[status=active]:font-medium"
      >
        <Icon size={16} aria-hidden />
        {page.label}
        {page.path === "/approvals" ? <WaitingCount /> : null}
      </Link>
    </li>
  );
}

function LiveBadge() {
  const state = useLiveState();
  const words = { connecting: "connecting", live: "live", reconnecting: "reconnecting" };
  return (
    <span
      role="status"
      className={cx(
        "flex items-center gap-1.5 px-1 text-xs whitespace-nowrap",
        state === "live" ? "text-ok" : "text-hold",
      )}
    >
      <span
        aria-hidden="true"
        className={cx("size-2 rounded-full", state === "live" ? "bg-ok" : "bg-hold")}
      />
      <span className="max-sm:sr-only">{words[state]}</span>
    </span>
  );
}

function UserMenu() {
  const { userId, role } = useSession();
  const navigate = useNavigate();
  return (
    <Menu
      trigger={
        <button
          type="button"
          className="h-8 max-w-32 truncate rounded-md px-2 font-medium hover:bg-raised"
        >
          {userId}
        </button>
      }
      items={[
        { label: `Signed in as ${userId} (${role})`, onSelect: () => undefined, disabled: true },
        { label: "Settings", onSelect: () => void navigate({ to: "/settings" }) },
        { label: "API reference", onSelect: () => window.location.assign("/docs") },
        { label: "Sign out", onSelect: signOut },
      ]}
    />
  );
}

/** A form, because the server answers with the sign-in page. */
function signOut(): void {
  const form = document.createElement("form");
  form.method = "post";
  form.action = "/logout";
  document.body.append(form);
  form.submit();
}
