// A secret that the server shows once.
import { Copy } from "./copy.tsx";

export function Secret({ value, label }: { readonly value: string; readonly label: string }) {
  return (
    <div className="flex flex-col gap-1.5 rounded-md border border-hold/50 bg-hold-soft p-3">
      <p className="font-medium text-hold">Copy it now: it is not shown again.</p>
      <div className="flex items-center gap-2 rounded bg-surface px-2.5 py-1.5">
        <code aria-label={label} className="min-w-0 flex-1 break-all select-all">
          {value}
        </code>
        <Copy text={value} label={`Copy the ${label}`} />
      </div>
    </div>
  );
}
