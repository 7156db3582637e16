// One AI client: a key, the entry for its configuration, and the wait for its first call.
import type { ReactNode } from "react";
import { useIsAdmin } from "../../app/session.tsx";
import { buttonLook } from "../../ui/button.tsx";
import { Code } from "../../ui/code.tsx";
import { Copy } from "../../ui/copy.tsx";
import type { Connections } from "./connect-card.tsx";
import { CreateKey } from "./create-key.tsx";
import { FirstCall } from "./first-call.tsx";
import type { useMadeKeys } from "./made-keys.ts";

type Client = Connections["clients"][number];

export function ClientSteps({
  client,
  connections: { placeholder },
  made,
}: {
  readonly client: Client;
  readonly connections: Connections;
  readonly made: ReturnType<typeof useMadeKeys>;
}) {
  const isAdmin = useIsAdmin();
  const key = made.of(client.id);
  const filled = (text: string): string =>
    key?.secret ? text.replaceAll(placeholder, key.secret) : text;
  return (
    <div className="flex flex-col gap-4">
      <CommandLine text={`npx ostiary connect ${client.id}`}>
        On the machine of the server, one command does all of this:
      </CommandLine>
      <ol className="flex flex-col gap-4">
        <Step number={1} title="Create a key">
          {isAdmin ? (
            <CreateKey client={client} made={key} onMade={made.add} />
          ) : (
            <p className="text-muted">
              Ask an administrator for a key, and put it in the place of <code>{placeholder}</code>.
            </p>
          )}
        </Step>
        <Step number={2} title={`Tell ${client.title} of this server`}>
          <Entry client={client} filled={filled} hasSecret={Boolean(key?.secret)} />
        </Step>
        <Step
          number={3}
          title={client.restarts ? `Restart ${client.title}` : `Use a tool in ${client.title}`}
        >
          {client.restarts ? (
            <p className="text-muted">It reads its configuration only when it starts.</p>
          ) : null}
          {key ? (
            <FirstCall client={client} keyId={key.keyId} />
          ) : (
            <p className="text-muted">Its first call appears here as soon as it arrives.</p>
          )}
        </Step>
      </ol>
    </div>
  );
}

function Step({
  number,
  title,
  children,
}: {
  readonly number: number;
  readonly title: string;
  readonly children: ReactNode;
}) {
  return (
    <li className="grid grid-cols-[1.75rem_minmax(0,1fr)] gap-x-2">
      <span
        aria-hidden="true"
        className="flex size-6 items-center justify-center rounded-full bg-accent-soft text-[13px] font-semibold"
      >
        {number}
      </span>
      <div className="flex min-w-0 flex-col gap-2">
        <h3 className="leading-6">{title}</h3>
        {children}
      </div>
    </li>
  );
}

interface EntryProps {
  readonly client: Client;
  readonly filled: (text: string) => string;
  readonly hasSecret: boolean;
}

function Entry({ client, filled, hasSecret }: EntryProps) {
  const { files, snippet, command, deeplink, title, transport } = client;
  return (
    <>
      {deeplink && hasSecret ? (
        <p>
          <a href={addressOf(deeplink, filled)} className={buttonLook("primary")}>
            Add to {title}
          </a>
        </p>
      ) : null}
      {command === null ? null : (
        <CommandLine text={filled(command)}>With {title} itself:</CommandLine>
      )}
      <p className="text-muted">
        {command === null && !deeplink ? "Put" : "Or put"} this into{" "}
        <code className="text-text">{fileHere(files)}</code>
        {files.project === null ? "" : ", or for one project into "}
        {files.project === null ? null : <code className="text-text">{files.project}</code>}
        {transport === "stdio" ? ". It starts a program, so Node must be installed there." : "."}
      </p>
      <Code text={filled(snippet)} label={`entry for ${title}`} />
    </>
  );
}

/** Where the browser runs, there the client runs as well. */
function fileHere(files: Client["files"]): string {
  if (/Windows/.test(navigator.userAgent)) return files.windows;
  return /Mac/.test(navigator.userAgent) ? files.macos : files.linux;
}

function addressOf(
  { template, encoding, config }: NonNullable<Client["deeplink"]>,
  filled: (text: string) => string,
): string {
  const text = filled(config);
  const encoded = encoding === "base64" ? encodeURIComponent(btoa(text)) : encodeURIComponent(text);
  return template.replace("{config}", encoded);
}

function CommandLine({ text, children }: { readonly text: string; readonly children: ReactNode }) {
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <span className="text-muted">{children}</span>
      <span className="flex min-w-0 items-center gap-1">
        <code className="min-w-0 rounded bg-raised px-2 py-1">{text}</code>
        <Copy text={text} label="Copy the command" />
      </span>
    </div>
  );
}

export type { Client };
