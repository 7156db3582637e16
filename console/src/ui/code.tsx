// Text of tools, callers and policies: always shown as text, never as markup.
import { cx } from "./class-names.ts";
import { Copy } from "./copy.tsx";

/** More is cut, and said so: a browser does not survive megabytes in one element. */
const MAX_SHOWN = 200_000;
/** Characters that do not show, or that change the order of others, are written out. */
const INVISIBLE =
  // eslint-disable-next-line no-control-regex, no-misleading-character-class
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

export const visibleText = (text: string): string =>
  text.replace(INVISIBLE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

export const jsonText = (value: unknown): string => JSON.stringify(value, null, 2) ?? "undefined";

export function Code({
  text,
  label,
  className,
}: {
  readonly text: string;
  /** Named for those who copy it and those who hear it. */
  readonly label: string;
  readonly className?: string;
}) {
  const shown = visibleText(text.slice(0, MAX_SHOWN));
  return (
    <div className={cx("relative min-w-0", className)}>
      <div className="absolute top-1 right-1">
        <Copy text={text} label={`Copy ${label}`} />
      </div>
      <pre
        tabIndex={0}
        aria-label={label}
        className="max-h-[60vh] overflow-auto rounded-md border border-line bg-raised p-3 pr-10 break-words whitespace-pre-wrap"
      >
        {shown}
      </pre>
      {text.length > MAX_SHOWN ? (
        <p className="text-xs text-muted">
          Only the first {MAX_SHOWN.toLocaleString()} of {text.length.toLocaleString()} characters
          are shown; copying takes all.
        </p>
      ) : null}
    </div>
  );
}

export const Json = ({ value, label }: { readonly value: unknown; readonly label: string }) => (
  <Code text={typeof value === "string" ? value : jsonText(value)} label={label} />
);
