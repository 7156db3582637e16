// A user that stands for the client, and a key of its own.
import { useState } from "react";
import { api, type Inputs } from "../../api/client.ts";
import { useChange } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { Copy } from "../../ui/copy.tsx";
import { Select } from "../../ui/field.tsx";
import type { Client } from "./client-steps.tsx";
import { makeUser } from "./make-user.ts";
import type { MadeKey } from "./made-keys.ts";

type Level = NonNullable<Inputs["keys"]["createKey"]["level"]>;

/** What a level means to whoever lets an agent in, as `ostiary connect` says it. */
const LEVELS: readonly (readonly [Level, string])[] = [
  ["admin", "All tools; dangerous ones ask a person"],
  ["execute_advanced", "Safe and moderate tools; dangerous ones are refused"],
  ["execute_basic", "Safe tools only"],
  ["view_only", "It only sees tools"],
];

export function CreateKey({
  client,
  made,
  onMade,
}: {
  readonly client: Client;
  readonly made: MadeKey | undefined;
  readonly onMade: (key: MadeKey) => void;
}) {
  const [level, setLevel] = useState<Level>("admin");
  const create = useChange(() => createKeyFor(client, level), {
    refreshes: ["keys", "users"],
    onDone: onMade,
  });
  if (made?.secret) return <Secret text={made.secret} />;
  return (
    <div className="flex flex-wrap items-end gap-2">
      <Select
        label="What it may call"
        className="w-full sm:w-96"
        value={level}
        onChange={(event) => setLevel(event.target.value as Level)}
        options={LEVELS}
      />
      <Button look="primary" busy={create.isPending} onClick={() => create.mutate(undefined)}>
        {made ? "Create another key and fill it in" : "Create a key and fill it in"}
      </Button>
    </div>
  );
}

const Secret = ({ text }: { readonly text: string }) => (
  <div role="status" className="rounded-md border border-ok/40 bg-ok-soft px-3 py-2">
    <p>
      <strong className="text-ok">✓ Key created and filled in below.</strong> It is shown only now,
      and lasts 90 days.
    </p>
    <p className="flex min-w-0 items-center gap-1">
      <code className="min-w-0">{text}</code>
      <Copy text={text} label="Copy the key" />
    </p>
  </div>
);

async function createKeyFor({ id, title }: Client, level: Level): Promise<MadeKey> {
  await makeUser(id, title);
  const { id: keyId, secret } = await api.keys.createKey.mutate({ userId: id, name: id, level });
  return { clientId: id, keyId, secret };
}
