// How an AI client gets the key: what to put in its file, with the key filled in.
import { useState } from "react";
import { api, type Outputs } from "../../../api/client.ts";
import { useData } from "../../../api/query.ts";
import { Code } from "../../../ui/code.tsx";
import { Select } from "../../../ui/field.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";

type Connections = Outputs["account"]["getConnections"];
type Client = Connections["clients"][number];

export function Connect({ secret }: { readonly secret: string }) {
  const query = useData(["connect"], (signal) =>
    api.account.getConnections.query(undefined, { signal }),
  );
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-56 w-full" />}>
      {(connections) => <Chosen connections={connections} secret={secret} />}
    </Loaded>
  );
}

function Chosen({
  connections,
  secret,
}: {
  readonly connections: Connections;
  readonly secret: string;
}) {
  const { url, placeholder, clients } = connections;
  const [id, setId] = useState(clients[0]?.id ?? "");
  const client = clients.find((one) => one.id === id);
  const filled = (text: string): string => text.replaceAll(placeholder, secret);
  return (
    <div className="flex flex-col gap-3">
      <Select
        label="Put it into"
        value={id}
        onChange={(event) => setId(event.target.value)}
        options={[
          ...clients.map((one) => [one.id, one.title] as const),
          ["", "another MCP client, or a program"],
        ]}
      />
      {client ? (
        <ClientEntry client={client} filled={filled} />
      ) : (
        <Code label="address and header" text={`${url}\nAuthorization: Bearer ${secret}`} />
      )}
    </div>
  );
}

function ClientEntry({
  client,
  filled,
}: {
  readonly client: Client;
  readonly filled: (text: string) => string;
}) {
  const { title, command, snippet, files, deeplink, restarts } = client;
  return (
    <>
      {deeplink ? (
        <p>
          <a href={linkOf(deeplink, filled)}>Add to {title} on this machine</a>
        </p>
      ) : null}
      {command === null ? null : (
        <div>
          <p className="text-[13px] font-medium">In a terminal</p>
          <Code label="command" text={filled(command)} />
        </div>
      )}
      <div>
        <p className="text-[13px] font-medium">
          {command === null ? "In" : "Or in"} <code>{fileHere(files)}</code>
        </p>
        <Code label="configuration" text={filled(snippet)} />
      </div>
      <p className="text-muted">
        {restarts ? `Restart ${title} afterwards. ` : ""}Its first request shows under the key as
        last use.
      </p>
    </>
  );
}

function linkOf(
  { template, encoding, config }: NonNullable<Client["deeplink"]>,
  filled: (text: string) => string,
): string {
  const text = filled(config);
  const encoded = encoding === "base64" ? encodeURIComponent(btoa(text)) : encodeURIComponent(text);
  return template.replace("{config}", encoded);
}

function fileHere({ linux, macos, windows }: Client["files"]): string {
  if (/Windows/.test(navigator.userAgent)) return windows;
  return /Mac/.test(navigator.userAgent) ? macos : linux;
}
