import { Code } from "../../ui/code.tsx";
import { HrefLink } from "../../ui/href-link.tsx";
import { Loaded, Skeleton } from "../../ui/states.tsx";
import { useSchema } from "./suggestions.tsx";

const ENGINES = { embedded: "kept by this server", spicedb: "on a SpiceDB server" };

export function SchemaTab() {
  return (
    <Loaded query={useSchema()} skeleton={<Skeleton className="h-[60vh] w-full" />}>
      {({ schema, engine }) => (
        <div className="flex flex-col gap-2">
          <p className="text-muted">
            In force, {ENGINES[engine]}.{" "}
            <HrefLink href="/policies?kind=schema">Change it under Policies</HrefLink>
          </p>
          <Code text={schema} label="Relation schema" />
        </div>
      )}
    </Loaded>
  );
}
