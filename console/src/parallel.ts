// Settings and results of runs as parallel axes. No page and no request.
import { differing, kResults, Run, Value } from "./runs";

export const kAxesMax = 24;  // more than that nobody follows a line through

// `places`: of each run, from 0 at the axis's foot to 1; null: the run does not say, or does not know yet. `marks`: where values are
// written beside the axis.
export type Axis = { name: string; is_result: boolean; values: Value[]; places: (number | null)[]; marks: { at: number; value: Value }[] };

// An axis for each setting in which the runs differ, then one for each result that one of them has.
export function axes_of(runs: Run[]): { axes: Axis[]; left_out: number } {
  const settings = differing(runs).map(([name, values]) => axis(name, false, values));
  const results = kResults.map(([name, read]) => axis(name, true, runs.map(read))).filter((one) => one.values.some((value) => value !== null));
  const room = Math.max(0, kAxesMax - results.length);
  return { axes: [...settings.slice(0, room), ...results], left_out: Math.max(0, settings.length - room) };
}

// Numbers stand by their size; where one value is none all are words, in the order of their letters.
export function axis(name: string, is_result: boolean, values: Value[]): Axis {
  const said = values.filter((value): value is Exclude<Value, null> => value !== null);
  if (said.every((value) => typeof value === "number")) {
    const low = Math.min(...said as number[]), high = Math.max(...said as number[]);
    const at = (value: number) => high > low ? (value - low) / (high - low) : 0.5;
    return { name, is_result, values, places: values.map((value) => value === null ? null : at(value as number)),
      marks: said.length === 0 ? [] : high > low ? [{ at: 0, value: low }, { at: 1, value: high }] : [{ at: 0.5, value: low }] };
  }
  const words = [...new Set(said.map(String))].sort(), at = (word: string) => words.length > 1 ? words.indexOf(word) / (words.length - 1) : 0.5;
  return { name, is_result, values, places: values.map((value) => value === null ? null : at(String(value))), marks: words.map((word) => ({ at: at(word), value: word })) };
}
