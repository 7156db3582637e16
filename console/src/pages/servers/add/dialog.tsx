// Three ways to a new server: described here, out of an AI client's file, or an HTTP API.
import { Dialog } from "../../../ui/dialog.tsx";
import { Tabs } from "../../../ui/tabs.tsx";
import type { WayToAdd } from "../routes.ts";
import { AddApi } from "./api-form.tsx";
import { AddFromFile } from "./file-form.tsx";
import { AddServer } from "./server-form.tsx";

export function AddDialog({
  way,
  onChoose,
  onClose,
}: {
  readonly way: WayToAdd | undefined;
  readonly onChoose: (way: WayToAdd) => void;
  readonly onClose: () => void;
}) {
  return (
    <Dialog
      open={way !== undefined}
      onClose={onClose}
      size="large"
      title="Add a server"
      lead="Its tools are quarantined: nobody sees or calls them before you have approved them."
    >
      <Tabs
        label="How to add it"
        value={way ?? "server"}
        onChange={(id) => onChoose(id as WayToAdd)}
        tabs={[
          { id: "server", label: "MCP server", content: <AddServer /> },
          { id: "file", label: "From a client’s file", content: <AddFromFile /> },
          { id: "api", label: "HTTP API", content: <AddApi /> },
        ]}
      />
    </Dialog>
  );
}
