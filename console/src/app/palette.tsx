// Search and commands: pages, tools, any pasted id.
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { type ReactNode, useState } from "react";
import { Dialog as Base } from "@base-ui/react/dialog";
import { api } from "../api/client.ts";
import { useData } from "../api/query.ts";
import { PAGES, type PageEntry } from "./pages.ts";
import { useIsAdmin } from "./session.tsx";

/** Where a pasted id leads, by its prefix. */
const BY_PREFIX: readonly (readonly [RegExp, (id: string) => string, string])[] = [
  [/^exec_[\w-]+$/, (id) => `/executions/${id}`, "Open execution"],
  [/^apr_[\w-]+$/, (id) => `/approvals/${id}`, "Open approval"],
  [/^run_[\w-]+$/, (id) => `/work/runs/${id}`, "Open run"],
  [/^req_[\w-]+$/, (id) => `/audit?text=${id}`, "Find request"],
  [/^(?:key|usr|cap)_[\w-]+$/, (id) => `/people?id=${id}`, "Open record"],
  [/^(?:ses|session)_[\w-]+$/, (id) => `/chat/${id}`, "Open session"],
  [/^srv_[\w-]+$/, (id) => `/servers/${id}`, "Open server"],
  [/^[0-9a-f]{32}$/, (id) => `/executions?traceId=${id}`, "Find trace"],
];

export function Palette({
  open,
  onClose,
}: {
  readonly open: boolean;
  readonly onClose: () => void;
}) {
  return (
    <Base.Root open={open} onOpenChange={(next) => (next ? undefined : onClose())}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-black/40" />
        <Base.Popup className="fixed top-[12vh] left-1/2 z-50 w-[calc(100vw-2rem)] max-w-xl -translate-x-1/2 overflow-hidden rounded-lg border border-line bg-surface text-text shadow-xl">
          <Base.Title className="sr-only">Search and commands</Base.Title>
          <Commands onClose={onClose} />
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

function Commands({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState("");
  const navigate = useNavigate();
  const isAdmin = useIsAdmin();
  const tools = useData(["tools", "names"], (signal) => api.tools.listTools.query({}, { signal }));
  const go = (to: string): void => {
    onClose();
    // Some have search parameters.
    void navigate({ href: to });
  };
  const pasted = text.trim();
  const byId = BY_PREFIX.find(([pattern]) => pattern.test(pasted));
  const entries: readonly PageEntry[] = PAGES;
  return (
    <Command label="Search and commands" className="flex max-h-[70vh] flex-col">
      <Command.Input
        value={text}
        onValueChange={setText}
        placeholder="Page, tool, or any id"
        className="h-11 border-b border-line bg-transparent px-4 outline-none placeholder:text-muted"
      />
      <Command.List className="overflow-y-auto p-2">
        <Command.Empty className="p-4 text-center text-muted">Nothing found</Command.Empty>
        {byId ? (
          <Entry value={`id ${pasted}`} onSelect={() => go(byId[1](pasted))}>
            {byId[2]} <code>{pasted}</code>
          </Entry>
        ) : null}
        <Command.Group heading="Pages" className={HEADING}>
          {entries
            .filter((page) => isAdmin || !page.adminOnly)
            .map((page) => (
              <Entry key={page.path} value={`page ${page.label}`} onSelect={() => go(page.path)}>
                <page.icon size={15} aria-hidden /> {page.label}
                <kbd className="ml-auto text-muted">g {page.key}</kbd>
              </Entry>
            ))}
        </Command.Group>
        <Command.Group heading="Tools" className={HEADING}>
          {tools.data?.tools.map(({ name, description }) => (
            <Entry key={name} value={`tool ${name}`} onSelect={() => go(`/tools/${name}`)}>
              <code>{name}</code>
              <span className="truncate text-muted">{description}</span>
            </Entry>
          ))}
        </Command.Group>
        {pasted.length >= 3 && !byId ? (
          <Command.Group heading="Search" className={HEADING} forceMount>
            <Entry
              value={`search executions ${pasted}`}
              onSelect={() => go(`/executions?search=${encodeURIComponent(pasted)}`)}
            >
              Executions with “{pasted}” in their error
            </Entry>
            <Entry
              value={`search ledger ${pasted}`}
              onSelect={() => go(`/audit?text=${encodeURIComponent(pasted)}`)}
            >
              Ledger events that hold “{pasted}”
            </Entry>
          </Command.Group>
        ) : null}
      </Command.List>
    </Command>
  );
}

const HEADING =
  "[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-muted";

function Entry({
  value,
  onSelect,
  children,
}: {
  readonly value: string;
  readonly onSelect: () => void;
  readonly children: ReactNode;
}) {
  return (
    <Command.Item
      value={value}
      onSelect={onSelect}
      className="flex min-h-8 min-w-0 items-center gap-2 rounded-md px-2 data-[selected=true]:bg-accent-soft"
    >
      {children}
    </Command.Item>
  );
}
