import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { Code } from "../../ui/code.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";

/** The last lines that the server wrote. */
export function Logs({ name }: { readonly name: string }) {
  const query = useData(
    ["servers", "logs", name],
    (signal) => api.servers.getServerLogs.query({ name, last: 500 }, { signal }),
    { refetchMs: 3_000 },
  );
  return (
    <Loaded query={query}>
      {({ lines }) =>
        lines.length === 0 ? (
          <Empty
            title="It has written nothing"
            text="What a program writes to stderr appears here, secrets masked. Servers behind an address keep their logs themselves."
            command={`ostiary servers logs ${name}`}
          />
        ) : (
          <Code text={lines.join("\n")} label={`logs of ${name}`} />
        )
      }
    </Loaded>
  );
}
