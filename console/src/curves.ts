// A job's rounds as curves: what the server tells of all of them, by column, and those that were done since. No page and no request.
import type { Json } from "./api";
import { kCosineLines } from "./cosines";
import { judged_line, Look } from "./fairness";
import { head_charts, head_figures } from "./heads";
import { kNormLines } from "./norms";
import { aligned, Line, Values } from "./series";
import { stands_out } from "./watch_hits";

export type Curves = { total: number; appended: number; xs: number[]; columns: Record<string, Values> };  // total: rounds that the points are of
export const kCurvePoints = 600;         // about one a pixel of a chart, two a stretch of rounds
export const kAllPoints = 100_000;       // the most that the server tells: every round with every digit
export const kAppendedMax = 100;         // rounds, then the curves are asked for anew
export const kNone: Curves = { total: 0, appended: 0, xs: [], columns: {} };

export const curves_of = (told: Json): Curves => ({ total: told.rounds, appended: 0, xs: told.round, columns: told.columns });

const kOfModel = "evaluation_", kOfWatch = "watch.", kOfNorms = "update_norm_", kOfCosines = "update_cosine_";
function value_of(round: Json, column: string): number | null {
  const value = column.startsWith(kOfNorms) ? round.model?.update_norms?.[column.slice(kOfNorms.length)] :
    column.startsWith(kOfCosines) ? round.model?.update_cosines?.[column.slice(kOfCosines.length)] : column.startsWith(kOfWatch) ? round.model?.watch && Math.max(0, ...round.model.watch.hits.filter((hit: Json) => kOfWatch + hit.check === column && stands_out(round.model.watch, hit)).map((hit: Json) => hit.share)) :
    column.startsWith(kOfModel) ? (column.includes(".") ? head_figures(round).find(([name]) => name === column)?.[1] : round.model?.[column]) : round[column];
  return typeof value === "number" ? value : null;
}
const kColumns = ["accepted", "seconds", "train_seconds", "train_loss", "train_accuracy", "clip_norm", "evaluation_loss", "evaluation_accuracy", ...[...kNormLines, ...kCosineLines].map(([column]) => column)];  // that charts draw
const columns_of = (round: Json): string[] => [...kColumns.filter((column) => value_of(round, column) !== null), ...head_figures(round).map(([column]) => column), ...(round.model?.watch?.hits ?? []).map((hit: Json) => kOfWatch + hit.check)];

// `curves` and the rounds behind them that are done; `rounds` are attempts, newest first. The same object: there is none. Null: too many have come, or one
// is not among `rounds`, so that the curves are to be asked for anew.
export function extended(curves: Curves, rounds: Json[]): Curves | null {
  const last = curves.xs.at(-1) ?? 0;
  const newer = rounds.filter((round) => round.state === "done" && round.number > last).reverse(), appended = curves.appended + newer.length;
  if (newer.length === 0) return curves;
  if (newer[0].number !== last + 1 || appended > kAppendedMax) return null;
  const names = new Set([...Object.keys(curves.columns), ...newer.flatMap(columns_of)]);
  const gaps = () => curves.xs.map(() => null);
  return { total: curves.total + newer.length, appended, xs: [...curves.xs, ...newer.map((round) => round.number as number)],
    columns: Object.fromEntries([...names].map((name) => [name, [...curves.columns[name] ?? gaps(), ...newer.map((round) => value_of(round, name))]])) };
}

export type RoundChart = { name: string; xs: number[]; lines: Line[] };
// `judged`: what jobs that evaluate on devices say of the versions: version n is what round n made.
export function round_charts({ total, appended, xs, columns }: Curves, judged: { looks: Look[] }[] = []): RoundChart[] {
  if (xs.length === 0) return [];
  const of = (column: string): Values => columns[column] ?? xs.map(() => null);
  const versions = [...new Set(judged.flatMap(({ looks }) => looks.map((look) => look.x)))].sort((a, b) => a - b);
  const values = (name: string, what: "loss" | "accuracy"): RoundChart => {
    const held_out: Line = ["held out", of(`evaluation_${what}`)], on_devices: Line = ["on devices", of(`train_${what}`)], by_others = judged_line(judged, versions, what);
    if (!by_others) return { name, xs, lines: [held_out, on_devices] };
    const [label, ys, spread] = by_others;
    return { name, ...aligned([...[held_out, on_devices].map(([line, of_line]) => ({ name: line, xs, ys: of_line })), { name: label, xs: versions, ys, spread }]) };
  };
  const hits = Object.keys(columns).filter((column) => column.startsWith(kOfWatch) && columns[column].some((share) => share)).map((column): Line => [column.slice(kOfWatch.length), columns[column]]);
  return [values("Loss", "loss"), values("Accuracy", "accuracy"), ...head_charts({ total, appended, xs, columns }), { name: "Updates accepted", xs, lines: [["accepted", of("accepted")]] },
    { name: "Seconds", xs, lines: [["round", of("seconds")], ["training", of("train_seconds")]] }, ...(hits.length ? [{ name: "Watchpoint hits", xs, lines: hits }] : [])];
}
