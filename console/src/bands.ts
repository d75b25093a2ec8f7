// Runs that differ in nothing but their seeds, as one line with its spread. No page and no request.
import { leaves, Run, values_of } from "./runs";
import type { Line } from "./series";

// `runs`: places in the list that was given, two or more.
export type Alike = { name: string; runs: number[] };
const is_seed = (path: string) => path === "seed" || path.endsWith(".seed");

// Runs with the same settings, but for seeds and names, by what tells the groups apart; a run with no other like it is in no group.
export function alike(runs: Run[]): Alike[] {
  const settings = runs.map(({ job }) => new Map([...leaves(job.spec)].filter(([path]) => path !== "name" && !is_seed(path)).sort()));
  const groups = new Map<string, number[]>();
  settings.forEach((of, i) => { const key = JSON.stringify([...of]); groups.set(key, [...groups.get(key) ?? [], i]); });
  const all = [...groups.values()].map((places) => settings[places[0]]);
  const telling = [...new Set(all.flatMap((of) => [...of.keys()]))].filter((path) => all.some((of) => of.get(path) !== all[0].get(path)));
  const end = (path: string) => path.split(".").at(-1)!;
  const short = (path: string) => telling.some((other) => other !== path && end(other) === end(path)) ? path : end(path);
  return [...groups.values()].filter((places) => places.length > 1).map((places) => {
    const of = settings[places[0]], values = telling.map((path) => `${short(path)} ${of.get(path) ?? "not said"}`).join(", ");
    return { name: `${values || runs[places[0]].job.spec.name}, mean of ${places.length}`, runs: places };
  });
}

// By round, over the runs that have it: the mean, and one standard deviation (of a sample) to each side. A round of one run alone has a
// mean and no spread. Curves with every round: a point of a thinned one may be of another round.
export function bands(runs: Run[], groups: Alike[], what: "loss" | "accuracy"): { xs: number[]; lines: Line[] } {
  const by_round = runs.map((run) => { const ys = values_of(run, what); return new Map(run.curves.xs.map((round, i) => [round, ys[i]])); });
  const xs = [...new Set(groups.flatMap((group) => group.runs.flatMap((i) => [...by_round[i].keys()])))].sort((a, b) => a - b);
  return { xs, lines: groups.map(({ name, runs: places }): Line => {
    const told = xs.map((x) => spread(places.map((i) => by_round[i].get(x) ?? null).filter((y): y is number => y !== null)));
    return [name, told.map((one) => one.mean), { low: told.map((one) => one.low), high: told.map((one) => one.high) }];
  }) };
}

export function spread(values: number[]): { mean: number | null; low: number | null; high: number | null } {
  if (values.length === 0) return { mean: null, low: null, high: null };
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  if (values.length === 1) return { mean, low: null, high: null };
  const deviation = Math.sqrt(values.reduce((sum, y) => sum + (y - mean) ** 2, 0) / (values.length - 1));
  return { mean, low: mean - deviation, high: mean + deviation };
}
