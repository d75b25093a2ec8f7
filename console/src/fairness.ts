// How well a model does for each group of examples, as evaluations on devices say it. No page and no request.
import type { Json } from "./api";
import type { Line } from "./series";

export type Measure = "accuracy" | "loss";
// One look at a model: at `x` (a round, or a version of a model), by all examples together and by group.
export type Look = { x: number; model: Json };
export const kGroupsDrawn = 4;  // more bands than that cover one another

const value = (of: Json | undefined, what: Measure): number | null => typeof of?.[what]?.value === "number" ? of[what].value : null;
const edge = (of: Json | undefined, what: Measure, which: "low" | "high"): number | null => typeof of?.[what]?.[which] === "number" ? of[what][which] : null;
const is_worse = (what: Measure, a: number, b: number) => what === "loss" ? a > b : a < b;

// The groups of a look that have examples, worst first.
export function by_harm(look: Look, what: Measure): Json[] {
  return (look.model.groups as Json[]).filter((group) => value(group, what) !== null)
    .sort((a, b) => is_worse(what, value(a, what)!, value(b, what)!) ? -1 : 1);
}

// `is_apart`: the intervals of the two do not meet; null: one of them has none, as too few devices have such examples.
export type Gap = { worst: string; best: string; gap: number; is_apart: boolean | null };
export function gap_of(look: Look, what: Measure): Gap | null {
  const groups = by_harm(look, what);
  if (groups.length < 2) return null;
  const worst = groups[0], best = groups.at(-1)!;
  const [lower, upper] = what === "loss" ? [best, worst] : [worst, best];
  const from = edge(upper, what, "low"), to = edge(lower, what, "high");
  return { worst: worst.name, best: best.name, gap: Math.abs(value(worst, what)! - value(best, what)!), is_apart: from === null || to === null ? null : to < from };
}

// A line with its interval for all examples and for the groups that the newest look says are worst.
export function group_lines(looks: Look[], what: Measure): { xs: number[]; lines: Line[] } {
  const line = (name: string, of: (look: Look) => Json | undefined): Line => [name, looks.map((look) => value(of(look), what)),
    { low: looks.map((look) => edge(of(look), what, "low")), high: looks.map((look) => edge(of(look), what, "high")) }];
  const worst = looks.length === 0 ? [] : by_harm(looks.at(-1)!, what).slice(0, kGroupsDrawn - 1).map((group) => String(group.name));
  return { xs: looks.map((look) => look.x), lines: [line("all examples", (look) => look.model), ...worst.map((name) => line(name, (look) => look.model.groups.find((one: Json) => one.name === name)))] };
}

export const interval = (of: Json, what: Measure): [number, number | null, number | null] | null =>
  value(of, what) === null ? null : [value(of, what)!, edge(of, what, "low"), edge(of, what, "high")];

// At most `most` of `count` versions of a table, the first and the newest among them.
export function versions_looked_at(count: number, most: number): number[] {
  if (count <= most) return Array.from({ length: count }, (_, i) => i + 1);
  return Array.from({ length: most }, (_, i) => 1 + Math.round(i * (count - 1) / (most - 1)));
}

// Results of jobs (oldest first) as looks at the versions of a model, apart by what their groups are; the newest look at a version counts.
export function of_columns(results: Json[], versions: Map<string, number>): { column: string; looks: Look[] }[] {
  const found = new Map<string, { column: string; looks: Map<number, Look> }>();
  for (const result of results) for (const model of result.models as Json[]) {
    const x = versions.get(model.model);
    if (x === undefined || model.devices === 0) continue;
    const key = JSON.stringify([result.column, ...model.groups.map((group: Json) => group.name)]);
    if (!found.has(key)) found.set(key, { column: result.column, looks: new Map() });
    found.get(key)!.looks.set(x, { x, model });
  }
  return [...found.values()].map(({ column, looks }) => ({ column, looks: [...looks.values()].sort((a, b) => a.x - b.x) }));
}

// All examples of the looks at `versions`, as a line with its interval; the first look at a version counts. Null: there is none.
export function judged_line(columns: { looks: Look[] }[], versions: (number | undefined)[], what: Measure): Line | null {
  const by_version = new Map([...columns].reverse().flatMap(({ looks }) => looks.map((look): [number, Json] => [look.x, look.model])));
  const of = versions.map((version) => version === undefined ? undefined : by_version.get(version));
  if (!of.some((model) => value(model, what) !== null)) return null;
  return ["evaluated on devices", of.map((model) => value(model, what)), { low: of.map((model) => edge(model, what, "low")), high: of.map((model) => edge(model, what, "high")) }];
}
