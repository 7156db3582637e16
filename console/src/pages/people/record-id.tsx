import { Copy } from "../../ui/copy.tsx";

/** An id with a button that copies it. */
export function RecordId({ id }: { readonly id: string }) {
  return (
    <span className="-my-1 flex min-w-0 items-center gap-1">
      <code className="min-w-0 break-all">{id}</code>
      <Copy text={id} label={`Copy the id ${id}`} />
    </span>
  );
}
