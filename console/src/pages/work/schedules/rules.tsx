// What becomes of due times that were missed, and of those at which the run before is still under way.
import { Select } from "../../../ui/field.tsx";
import type { Schedule } from "../data.ts";

const CATCH_UPS: Record<Schedule["catchUp"], string> = {
  skip: "left out",
  once: "one run for all of them",
  all: "each made up",
};
const OVERLAPS: Record<Schedule["overlap"], string> = {
  skip: "left out",
  queue: "waits until that has ended",
  allow: "both run",
};

const optionsOf = <V extends string>(words: Record<V, string>) =>
  Object.entries<string>(words) as [V, string][];

interface Props<V> {
  readonly value: V;
  readonly onChange: (value: V) => void;
  readonly disabled?: boolean;
}

export const CatchUpSelect = ({ value, onChange, disabled }: Props<Schedule["catchUp"]>) => (
  <Select
    label="Missed times"
    hint="Those at which nothing ran, by more than a minute"
    value={value}
    disabled={disabled}
    options={optionsOf(CATCH_UPS)}
    onChange={(event) => onChange(event.target.value as Schedule["catchUp"])}
  />
);

export const OverlapSelect = ({ value, onChange, disabled }: Props<Schedule["overlap"]>) => (
  <Select
    label="While the run before is under way"
    hint="What becomes of a time that is due then"
    value={value}
    disabled={disabled}
    options={optionsOf(OVERLAPS)}
    onChange={(event) => onChange(event.target.value as Schedule["overlap"])}
  />
);
