// Rows of plain tables are their records in other letters: camelCase here, snake_case there, some of them JSON text.

type Plain = Readonly<Record<string, unknown>>;

export interface Columns<Rec, Row> {
  toRow(record: Rec): Row;
  /** Only the columns of what changes. */
  toChange(change: Partial<Rec>): Partial<Row>;
  fromRow(row: Row): Rec;
}

/**
 * `json` and `flags` name the fields that are kept as JSON text and as 0 or 1; a null of a JSON field is kept as
 * null.
 */
export function columns<Rec extends object, Row extends object>(
  names: readonly (keyof Rec & string)[],
  {
    json = [],
    flags = [],
  }: { json?: readonly (keyof Rec & string)[]; flags?: readonly (keyof Rec & string)[] } = {},
): Columns<Rec, Row> {
  const packed = (name: keyof Rec & string, value: unknown): unknown => {
    if (json.includes(name)) return value === null ? null : JSON.stringify(value);
    return flags.includes(name) ? Number(value) : value;
  };
  const unpacked = (name: keyof Rec & string, value: unknown): unknown => {
    if (json.includes(name)) return value === null ? null : JSON.parse(value as string);
    return flags.includes(name) ? value === 1 : value;
  };
  const toChange = (change: Partial<Rec>): Partial<Row> =>
    Object.fromEntries(
      names
        .filter((name) => change[name] !== undefined)
        .map((name) => [snake(name), packed(name, change[name])]),
    ) as Partial<Row>;
  return {
    toRow: (record) => toChange(record) as Row,
    toChange,
    fromRow: (row) =>
      Object.fromEntries(
        names.map((name) => [name, unpacked(name, (row as Plain)[snake(name)])]),
      ) as Rec,
  };
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
