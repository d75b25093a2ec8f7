// Runs of jobs, compared: what they were set to, and what came of it. No page and no request.
import type { Json } from "./api";
import type { Curves } from "./curves";
import type { Values } from "./series";

export const kRunsMax = 12;  // more lines than that nobody tells apart
export type Value = string | number | boolean | null;
// curves: of the rounds that are done; sums: of all of these, by column (none: a server of before does not tell); failed: attempts.
export type Run = { job: Json; curves: Curves; sums?: Json; failed: Json[] };

// The leaves of a job's settings, by their path; a list is one value.
export function leaves(of: Json, path = ""): Map<string, Value> {
  const found = new Map<string, Value>();
  for (const [key, value] of Object.entries(of ?? {})) {
    const here = path ? `${path}.${key}` : key;
    if (Array.isArray(value)) found.set(here, JSON.stringify(value));
    else if (value !== null && typeof value === "object") for (const [inner, leaf] of leaves(value, here)) found.set(inner, leaf);
    else found.set(here, value as Value);
  }
  return found;
}

// The settings in which `runs` differ, by path; what a job does not say is null.
export function differing(runs: Run[]): [string, Value[]][] {
  const all = runs.map((run) => leaves(run.job.spec));
  return [...new Set(all.flatMap((one) => [...one.keys()]))].sort()
    .map((path): [string, Value[]] => [path, all.map((one) => one.get(path) ?? null)])
    .filter(([path, values]) => path !== "name" && values.some((value) => value !== values[0]));
}

const figure = (value: unknown): number | null => typeof value === "number" ? value : null;
// Its curves are points of more rounds.
export const is_thinned = ({ curves }: Run): boolean => curves.xs.length < curves.total;
// By the points of its curves: held out where the job evaluates, else what its devices said.
export const is_held_out = ({ curves }: Run, what: "loss" | "accuracy"): boolean => curves.columns[`evaluation_${what}`] !== undefined;
export const values_of = (run: Run, what: "loss" | "accuracy"): Values =>
  run.curves.columns[`${is_held_out(run, what) ? "evaluation" : "train"}_${what}`] ?? run.curves.xs.map(() => null);

export const kResults: [string, (run: Run) => number | null][] = [
  ["best loss", (run) => least(values_of(run, "loss"))],
  ["last loss", (run) => last(values_of(run, "loss"))],
  ["best accuracy", (run) => { const worst = least(values_of(run, "accuracy").map((y) => y === null ? null : -y)); return worst === null ? null : -worst; }],
  ["last accuracy", (run) => last(values_of(run, "accuracy"))],
  ["rounds done", (run) => run.curves.total],
  ["failed attempts", (run) => run.failed.length],
  ["updates", ({ sums }) => sums ? figure(sums.accepted) ?? 0 : null],
  ["epsilon", (run) => figure(run.job.privacy?.epsilon)],
  ["seconds", ({ sums, failed }) => sums ? sum([figure(sums.seconds), ...failed.map((attempt) => figure(attempt.seconds))]) : null],
];
const known = (ys: (number | null)[]) => ys.filter((y): y is number => y !== null);
const least = (ys: (number | null)[]) => known(ys).reduce<number | null>((a, b) => a === null || b < a ? b : a, null);
const last = (ys: (number | null)[]) => known(ys).at(-1) ?? null;
const sum = (ys: (number | null)[]) => known(ys).reduce((a, b) => a + b, 0);

// A view's address: which jobs, which setting against which result, the job that is picked out, and whether runs with equal settings are one line.
export type View = { jobs: string[]; setting: string; result: string; picked: string; are_alike_one: boolean };
const kAlike = "alike";
export function address({ jobs, setting, result, picked, are_alike_one }: View): string {
  const parts = ["compare", jobs.map(encodeURIComponent).join(","), ...[setting, result, picked].map(encodeURIComponent), are_alike_one ? kAlike : ""];
  while (parts.length > 2 && parts.at(-1) === "") parts.pop();
  return "#/" + parts.join("/");
}
// `parts` are those of the address behind "compare", as they stand there.
export function view_of(parts: string[]): View {
  const plain = (text: string) => { try { return decodeURIComponent(text); } catch { return ""; } };
  const jobs = [...new Set((parts[0] ?? "").split(",").map(plain).filter(Boolean))].slice(0, kRunsMax);
  return { jobs, setting: plain(parts[1] ?? ""), result: plain(parts[2] ?? ""), picked: plain(parts[3] ?? ""), are_alike_one: parts[4] === kAlike };
}
