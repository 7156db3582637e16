import { cx } from "../../ui/class-names.ts";
import { visibleText } from "../../ui/code.tsx";
import { argumentsOf, type Effect, type Listed, wishOf } from "./approval.ts";

/** "bot wants to overwrite notes.md" */
export function Wish({
  row,
  effect,
  large = false,
}: {
  readonly row: Pick<Listed, "requester" | "toolName" | "arguments" | "editedArguments">;
  readonly effect?: Effect | undefined;
  readonly large?: boolean;
}) {
  const { verb, object } = wishOf(row.toolName, argumentsOf(row), effect);
  return (
    <span className={cx("min-w-0", large ? "text-[17px] leading-snug" : "text-[15px]")}>
      <strong className="font-semibold">{row.requester}</strong> wants to {verb}{" "}
      <code className={cx("rounded bg-raised px-1 py-0.5 break-all", large && "text-[15px]")}>
        {visibleText(object)}
      </code>
    </span>
  );
}
