// Fields with the same response name must be able to share one answer.
import { isField, isInline, typeName, typeText, valueText } from "./ast.ts";
import type { Definition, Field, Position, QueryDocument, Selection, TypeRef } from "./ast.ts";
import { GraphqlError } from "./ast.ts";
import type { Schema } from "./schema.ts";

interface Placed {
  readonly field: Field;
  readonly parent: Definition | undefined;
  readonly type: TypeRef | undefined;
}

type Report = (message: string, at: Position) => void;

/** Comparing every pair of fields of a huge query would take forever. */
const MAX_COMPARISONS = 200_000;

class Overlaps {
  private comparisons = 0;
  private readonly schema: Schema;
  private readonly doc: QueryDocument;
  private readonly report: Report;

  constructor(schema: Schema, doc: QueryDocument, report: Report) {
    this.schema = schema;
    this.doc = doc;
    this.report = report;
  }

  run(): void {
    for (const operation of this.doc.Operations) {
      const root = this.schema.types.get(
        this.schema.roots.get(operation.Operation || "query") ?? "",
      );
      this.within(this.collect(root, operation.SelectionSet));
    }
    for (const fragment of this.doc.Fragments) {
      this.within(
        this.collect(this.schema.types.get(fragment.TypeCondition), fragment.SelectionSet),
      );
    }
  }

  private collect(
    parent: Definition | undefined,
    set: readonly Selection[],
    into = new Map<string, Placed[]>(),
    seen = new Set<string>(),
  ): Map<string, Placed[]> {
    for (const node of set) {
      if (isField(node)) {
        const type = parent?.Fields.find(({ Name }) => Name === node.Name)?.Type;
        into.set(node.Alias, [...(into.get(node.Alias) ?? []), { field: node, parent, type }]);
      } else if (isInline(node)) {
        const next = node.TypeCondition === "" ? parent : this.schema.types.get(node.TypeCondition);
        this.collect(next, node.SelectionSet, into, seen);
      } else if (!seen.has(node.Name)) {
        seen.add(node.Name);
        const fragment = this.doc.Fragments.find(({ Name }) => Name === node.Name);
        if (fragment === undefined) continue;
        this.collect(
          this.schema.types.get(fragment.TypeCondition),
          fragment.SelectionSet,
          into,
          seen,
        );
      }
    }
    return into;
  }

  private below({ field, type }: Placed): Map<string, Placed[]> {
    const def = type === undefined ? undefined : this.schema.types.get(typeName(type));
    return this.collect(def, field.SelectionSet);
  }

  private within(fields: ReadonlyMap<string, readonly Placed[]>): void {
    for (const group of fields.values()) {
      for (const [i, a] of group.entries()) {
        for (const b of group.slice(i + 1)) {
          const why = this.conflict(a, b, false);
          if (why !== undefined) {
            this.report(
              `Fields "${a.field.Alias}" conflict because ${why}. Use different aliases on the fields to fetch both if this was intentional.`,
              a.field.at,
            );
            return;
          }
        }
        if (a.field.SelectionSet.length > 0) this.within(this.below(a));
      }
    }
  }

  /** Two object types exclude each other, so their fields are never in one answer. */
  private exclusive(a: Placed, b: Placed): boolean {
    return (
      a.parent !== undefined &&
      b.parent !== undefined &&
      a.parent.Name !== b.parent.Name &&
      a.parent.Kind === "OBJECT" &&
      b.parent.Kind === "OBJECT"
    );
  }

  private conflict(a: Placed, b: Placed, apart: boolean): string | undefined {
    if (++this.comparisons > MAX_COMPARISONS) throw new GraphqlError("query is too large to check");
    const exclusive = apart || this.exclusive(a, b);
    if (!exclusive) {
      if (a.field.Name !== b.field.Name) {
        return `"${a.field.Name}" and "${b.field.Name}" are different fields`;
      }
      if (argumentsText(a.field) !== argumentsText(b.field)) return "they have differing arguments";
    }
    if (a.type !== undefined && b.type !== undefined && this.typesDiffer(a.type, b.type)) {
      return `they return conflicting types "${typeText(a.type)}" and "${typeText(b.type)}"`;
    }
    const [left, right] = [this.below(a), this.below(b)];
    for (const [alias, mine] of left) {
      for (const x of mine) {
        for (const y of right.get(alias) ?? []) {
          const why = this.conflict(x, y, exclusive);
          if (why !== undefined) return `subfields "${alias}" conflict because ${why}`;
        }
      }
    }
    return undefined;
  }

  private typesDiffer(a: TypeRef, b: TypeRef): boolean {
    if (a.NonNull !== b.NonNull || (a.Elem === undefined) !== (b.Elem === undefined)) return true;
    if (a.Elem !== undefined && b.Elem !== undefined) return this.typesDiffer(a.Elem, b.Elem);
    const leaf = (type: TypeRef): boolean => {
      const kind = this.schema.types.get(type.NamedType)?.Kind;
      return kind === "SCALAR" || kind === "ENUM";
    };
    return (leaf(a) || leaf(b)) && a.NamedType !== b.NamedType;
  }
}

function argumentsText(field: Field): string {
  return field.Arguments.map((arg) => `${arg.Name}:${valueText(arg.Value)}`)
    .sort()
    .join(",");
}

export function checkOverlaps(schema: Schema, doc: QueryDocument, report: Report): void {
  new Overlaps(schema, doc, report).run();
}
