import { GraphqlError } from "./ast.ts";
import type { Fragment, Operation, QueryDocument, Selection, VariableDefinition } from "./ast.ts";
import { Parser } from "./parser.ts";

class QueryParser extends Parser {
  document(): QueryDocument {
    const operations: Operation[] = [];
    const fragments: Fragment[] = [];
    while (!this.is("<EOF>")) {
      if (this.is("{")) operations.push(this.anonymous());
      else if (["query", "mutation", "subscription"].some((word) => this.isKeyword(word))) {
        operations.push(this.operation());
      } else if (this.isKeyword("fragment")) fragments.push(this.fragment());
      else throw this.unexpected();
    }
    return { Operations: operations, Fragments: fragments };
  }

  private anonymous(): Operation {
    const at = this.at();
    return {
      Operation: "query",
      Name: "",
      VariableDefinitions: [],
      Directives: [],
      SelectionSet: this.selectionSet(),
      at,
    };
  }

  private operation(): Operation {
    const at = this.at();
    const comment = this.comment;
    const kind = this.next().value;
    const name = this.is("Name") ? this.next().value : "";
    return {
      Operation: kind,
      Name: name,
      VariableDefinitions: this.variables(),
      Directives: this.directives(false),
      SelectionSet: this.selectionSet(),
      Comment: comment,
      at,
    };
  }

  private variables(): VariableDefinition[] {
    return this.some("(", ")", () => {
      const at = this.at();
      const comment = this.comment;
      this.expect("$");
      const name = this.name();
      this.expect(":");
      const type = this.type();
      const value = this.skip("=") ? { DefaultValue: this.value(true) } : {};
      const directives = this.directives(false);
      return {
        Variable: name,
        Type: type,
        ...value,
        Directives: directives,
        Used: false,
        Comment: comment,
        at,
      };
    });
  }

  private selectionSet(): Selection[] {
    if (!this.is("{")) {
      throw new GraphqlError(`Expected {, found ${this.peek().kind}`, this.at());
    }
    return this.nested(() => this.some("{", "}", () => this.selection()));
  }

  private selection(): Selection {
    if (this.is("...")) return this.spread();
    const at = this.at();
    const comment = this.comment;
    const alias = this.name();
    const name = this.skip(":") ? this.name() : alias;
    return {
      Alias: alias,
      Name: name,
      Arguments: this.arguments(false),
      Directives: this.directives(false),
      SelectionSet: this.is("{") ? this.selectionSet() : [],
      Comment: comment,
      at,
    };
  }

  private spread(): Selection {
    const comment = this.comment;
    this.expect("...");
    const at = this.at();
    if (this.is("Name") && !this.isKeyword("on")) {
      return { Name: this.name(), Directives: this.directives(false), Comment: comment, at };
    }
    let condition = "";
    if (this.isKeyword("on")) {
      this.next();
      condition = this.name();
    }
    return {
      TypeCondition: condition,
      Directives: this.directives(false),
      SelectionSet: this.selectionSet(),
      Comment: comment,
      at,
    };
  }

  private fragment(): Fragment {
    const at = this.at();
    const comment = this.comment;
    this.keyword("fragment");
    if (this.isKeyword("on")) throw this.unexpected();
    const name = this.name();
    const variables = this.variables();
    this.keyword("on");
    return {
      Name: name,
      VariableDefinition: variables,
      TypeCondition: this.name(),
      Directives: this.directives(false),
      SelectionSet: this.selectionSet(),
      Comment: comment,
      at,
    };
  }
}

export const parseQuery = (source: string): QueryDocument => new QueryParser(source).document();
