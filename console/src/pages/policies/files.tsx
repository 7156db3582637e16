// The files of a version: one is open in the editor.
import { FilePlus2, X } from "lucide-react";
import { useState } from "react";
import { Button, IconButton } from "../../ui/button.tsx";
import { cx } from "../../ui/class-names.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { notify } from "../../ui/toast.tsx";
import type { Draft } from "./draft.ts";

const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]*(\/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$/;

export function FileList({
  draft,
  open,
  faulty,
  extension,
  onOpen,
}: {
  readonly draft: Draft;
  readonly open: string;
  /** Names of files with faults. */
  readonly faulty: ReadonlySet<string>;
  readonly extension: string;
  readonly onOpen: (file: string) => void;
}) {
  const names = Object.keys(draft.files).sort();
  return (
    <nav
      aria-label="Files"
      className="flex max-h-40 flex-wrap items-center gap-1 overflow-y-auto border-b border-line p-1.5"
    >
      {names.map((name) => (
        <span
          key={name}
          className={cx(
            "flex items-center rounded-md",
            name === open ? "bg-accent-soft" : "hover:bg-raised",
          )}
        >
          <button
            type="button"
            aria-current={name === open || undefined}
            onClick={() => onOpen(name)}
            className="h-7 px-2 font-mono text-[12.5px]"
          >
            {name}
            {draft.changed.includes(name) ? (
              <span className="text-hold" title="changed">
                {" "}
                ●<span className="sr-only"> changed</span>
              </span>
            ) : null}
            {faulty.has(name) ? (
              <span className="text-deny" title="has faults">
                {" "}
                ✕<span className="sr-only"> has faults</span>
              </span>
            ) : null}
          </button>
          {name === open && names.length > 1 ? (
            <IconButton
              label={`Remove ${name}`}
              onClick={() => {
                const text = draft.files[name] ?? "";
                draft.remove(name);
                onOpen(names.find((other) => other !== name) ?? "");
                notify(`${name} is removed from the draft`, {
                  undo: () => {
                    draft.change(name, text);
                    onOpen(name);
                  },
                });
              }}
            >
              <X size={13} aria-hidden />
            </IconButton>
          ) : null}
        </span>
      ))}
      <AddFile
        extension={extension}
        taken={names}
        onAdd={(name) => {
          draft.add(name);
          onOpen(name);
        }}
      />
    </nav>
  );
}

function AddFile({
  extension,
  taken,
  onAdd,
}: {
  readonly extension: string;
  readonly taken: readonly string[];
  readonly onAdd: (name: string) => void;
}) {
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState("");
  const fault = !NAME.test(name)
    ? "expected a relative path of letters, digits and _ . - /"
    : taken.includes(name)
      ? "there is a file of this name"
      : undefined;
  return (
    <>
      <IconButton label="Add a file" onClick={() => setOpen(true)}>
        <FilePlus2 size={15} aria-hidden />
      </IconButton>
      <Dialog open={isOpen} onClose={() => setOpen(false)} title="Add a file">
        <form
          className="flex flex-col gap-3"
          onSubmit={(event) => {
            event.preventDefault();
            if (fault !== undefined) return;
            onAdd(name);
            setName("");
            setOpen(false);
          }}
        >
          <TextField
            label="Name"
            placeholder={`name${extension}`}
            value={name}
            onChange={(event) => setName(event.target.value)}
            fault={name === "" ? undefined : fault}
            hint={extension === ".rego" ? "Tests are in files that end in _test.rego" : undefined}
          />
          <div className="flex justify-end gap-2">
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button type="submit" look="primary" disabled={fault !== undefined}>
              Add the file
            </Button>
          </div>
        </form>
      </Dialog>
    </>
  );
}
