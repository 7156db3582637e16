// After / the commands that need no model; after "/tool " the tools.
import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";

const COMMANDS = [
  ["/tools ", "the tools that you may use"],
  ["/tool ", "call one: /tool name {…}"],
  ["/explain ", "what the gate would say: /explain name {…}"],
] as const;
const MOST = 6;

export function Suggestions({
  text,
  onChoose,
}: {
  readonly text: string;
  readonly onChoose: (text: string) => void;
}) {
  const wanted = /^\/(?:tool|explain) (\S*)$/.exec(text);
  const tools = useData(["tools", "names"], (signal) => api.tools.listTools.query({}, { signal }), {
    enabled: text.startsWith("/"),
  });
  const commands = COMMANDS.filter(([command]) => command.startsWith(text) && text !== "");
  const names = wanted
    ? (tools.data?.tools ?? []).filter(({ name }) => name.includes(wanted[1] ?? "")).slice(0, MOST)
    : [];
  if (commands.length + names.length === 0) return null;
  const word = text.split(" ", 1)[0] ?? "";
  return (
    <ul aria-label="Suggestions" className="rounded-md border border-line bg-surface p-1">
      {commands.map(([command, what]) => (
        <Suggestion key={command} label={command} what={what} onChoose={() => onChoose(command)} />
      ))}
      {names.map(({ name, description }) => (
        <Suggestion
          key={name}
          label={name}
          what={description}
          onChoose={() => onChoose(`${word} ${name} `)}
        />
      ))}
    </ul>
  );
}

function Suggestion({
  label,
  what,
  onChoose,
}: {
  readonly label: string;
  readonly what: string;
  readonly onChoose: () => void;
}) {
  return (
    <li>
      <button
        type="button"
        onClick={onChoose}
        className="flex min-h-7 w-full items-center gap-2 rounded px-2 text-left hover:bg-raised"
      >
        <code>{label}</code>
        <span className="truncate text-muted">{what}</span>
      </button>
    </li>
  );
}
