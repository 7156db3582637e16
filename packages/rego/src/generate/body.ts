// Code for bodies and their expressions.
import { ALWAYS, exists, sequence } from "./code.ts";
import { genCall } from "./call.ts";
import { genGet } from "./term.ts";
import { genUnify, genValues } from "./unify.ts";
import { genWith } from "./with.ts";
import { eachEntry } from "../values/lookup.ts";
import { RegoObject, RegoSet } from "../values/value.ts";
import type { Frame, Step } from "./code.ts";
import type { Context } from "../evaluate/context.ts";
import type { Gen } from "./generator.ts";
import type { Body, Expr, Term } from "../syntax/ast.ts";
import type { Value } from "../values/value.ts";

export function genBody(gen: Gen, body: Body): Step {
  const steps = body.map((expr) => {
    const step = genExpr(gen, expr);
    return gen.program.traced ? traced(expr, step) : step;
  });
  return steps.length === 0 ? ALWAYS : counted(sequence(steps));
}

/** Every run of a body is a step towards the limit. */
function counted(step: Step): Step {
  const { test, each } = step;
  if (test) {
    return {
      test: (c, f) => {
        c.session.tick();
        return test(c, f);
      },
    };
  }
  return {
    each: (c, f, next) => {
      c.session.tick();
      return each(c, f, next);
    },
  };
}

function traced(expr: Expr, step: Step): Step {
  const { test, each } = step;
  if (test) {
    return {
      test: (c, f) => {
        const held = test(c, f);
        c.tracer?.expression(expr, held);
        return held;
      },
    };
  }
  return {
    each: (c, f, next) => {
      let held = false;
      const stopped = each(c, f, () => {
        if (!held) c.tracer?.expression(expr, true);
        held = true;
        return next();
      });
      if (!held) c.tracer?.expression(expr, false);
      return stopped;
    },
  };
}

function genExpr(gen: Gen, expr: Expr): Step {
  if (!expr.negated) return genWith(gen, expr.withs, () => genNode(gen, expr));
  return gen.scoped(() => {
    const step = genWith(gen, expr.withs, () => genNode(gen, expr));
    const holds = exists(step);
    return { test: (c: Context, f: Frame) => !holds(c, f) };
  });
}

function genNode(gen: Gen, expr: Expr): Step {
  const { node } = expr;
  switch (node.kind) {
    case "term":
      return genTruth(gen, node.term);
    case "eq":
      return genUnify(gen, node.left, node.right);
    case "call":
      return genCall(gen, node.op, node.args, expr.loc);
    case "every":
      return genEvery(gen, node);
    case "not": {
      const holds = genHolds(gen, node.body);
      return { test: (c, f) => !holds(c, f) };
    }
    case "and":
    case "or": {
      const left = genHolds(gen, node.left);
      const right = genHolds(gen, node.right);
      if (node.kind === "and") return { test: (c, f) => left(c, f) && right(c, f) };
      return { test: (c, f) => left(c, f) || right(c, f) };
    }
    case "some":
    case "someIn":
      return ALWAYS;
  }
}

function genHolds(gen: Gen, body: Body): (c: Context, f: Frame) => boolean {
  return gen.scoped(() => exists(genBody(gen, body)));
}

/** A term holds unless it is undefined or false. */
function genTruth(gen: Gen, term: Term): Step {
  const { get, each } = genValues(gen, term);
  if (get) {
    return {
      test: (c, f) => {
        const value = get(c, f);
        return value !== undefined && value !== false;
      },
    };
  }
  return { each: (c, f, next) => each(c, f, (value) => value !== false && next()) };
}

function genEvery(gen: Gen, node: Expr["node"] & { kind: "every" }): Step {
  const domain = genGet(gen, node.domain);
  return gen.scoped(() => {
    const key = node.key ? gen.bind(node.key.name) : undefined;
    const value = gen.bind(node.value.name);
    const holds = exists(genBody(gen, node.body));
    return {
      test: (c: Context, f: Frame) => {
        const items = domain(c, f);
        if (items === undefined || !isCollection(items)) return false;
        const failed = eachEntry(items, (k, v) => {
          if (key !== undefined) f[key] = k;
          f[value] = v;
          return !holds(c, f);
        });
        return !failed;
      },
    };
  });
}

function isCollection(value: Value): boolean {
  return Array.isArray(value) || value instanceof RegoObject || value instanceof RegoSet;
}
