// A choice among users and keys, for administrators: whose eyes to look through.
import { api } from "../api/client.ts";
import { useData } from "../api/query.ts";
import { useIsAdmin } from "../app/session.tsx";
import { Select } from "./field.tsx";

export function CallerSelect({
  label,
  value,
  onChange,
  hint,
  className,
}: {
  readonly label: string;
  /** Empty: whoever is signed in. */
  readonly value: string;
  readonly onChange: (id: string) => void;
  readonly hint?: string;
  readonly className?: string;
}) {
  const isAdmin = useIsAdmin();
  const users = useData(
    ["users", "choice"],
    (signal) => api.users.listUsers.query({ limit: 100 }, { signal }),
    { enabled: isAdmin },
  );
  const keys = useData(
    ["keys", "choice"],
    (signal) => api.keys.listKeys.query({ limit: 100 }, { signal }),
    { enabled: isAdmin },
  );
  if (!isAdmin) return null;
  const options: (readonly [string, string])[] = [
    ["", "me"],
    ...(users.data?.items ?? []).map(({ id, name }) => [id, `${id} (${name})`] as const),
    ...(keys.data?.items ?? [])
      .filter(({ revokedAt }) => revokedAt === null)
      .map(({ id, name, userId }) => [id, `key ${name} of ${userId}`] as const),
  ];
  if (value !== "" && !options.some(([id]) => id === value)) options.push([value, value]);
  return (
    <Select
      label={label}
      value={value}
      options={options}
      onChange={(event) => onChange(event.target.value)}
      {...(hint === undefined ? {} : { hint })}
      {...(className === undefined ? {} : { className })}
    />
  );
}
