import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Check, Select, TextField } from "../../ui/field.tsx";

/** The server makes the file while it is sent, so the browser downloads it by itself. */
export function ExportButton() {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>Export</Button>
      <Dialog
        open={isOpen}
        onClose={() => setOpen(false)}
        title="Export the ledger"
        lead="Lines of JSON with a signed manifest: the file proves itself, without this server."
      >
        <ExportForm onDone={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function ExportForm({ onDone }: { readonly onDone: () => void }) {
  const [since, setSince] = useState("");
  const [format, setFormat] = useState("ndjson");
  const [gzip, setGzip] = useState(false);
  const query = new URLSearchParams({
    format,
    gzip: String(gzip),
    ...(since === "" ? {} : { since }),
  });
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        const link = document.createElement("a");
        link.href = `/api/v1/audit/export?${query}`;
        link.download = "";
        link.click();
        onDone();
      }}
    >
      <TextField
        label="Since"
        type="date"
        hint="Empty: from the beginning, archived files included"
        value={since}
        onChange={(event) => setSince(event.target.value)}
      />
      <Select
        label="Form"
        value={format}
        onChange={(event) => setFormat(event.target.value)}
        options={[
          ["ndjson", "lines of JSON, as ostiary audit verify reads them"],
          ["cloudevents", "CloudEvents"],
        ]}
      />
      <Check
        label="Compressed (gzip)"
        checked={gzip}
        onChange={(event) => setGzip(event.target.checked)}
      />
      <div className="flex justify-end gap-2">
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" look="primary">
          Download
        </Button>
      </div>
    </form>
  );
}
