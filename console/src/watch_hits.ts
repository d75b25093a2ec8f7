// What devices of a watched job found in their trainings: which checks, at which layers, on which share of a round. With noise each
// share has an error, and what noise makes is no hit. No page and no request.
import type { Json } from "./api";

export type WatchHits = { round: number; looked: number; error: number; checks: string[]; layers: { name: string; shares: (number | null)[] }[] };

// As scheduler/job/noisy_hits.h has it.
export const kHitErrorsMin = 3;
export const stands_out = (watch: Json, hit: Json): boolean => hit.share > kHitErrorsMin * (watch.error ?? 0);

export const kWholeTraining = "the training as a whole";

// Of the newest round that is done and watched; undefined: there is none. `rounds` are newest first. A share that is null: the check
// fired nowhere at that layer.
export function newest_hits(rounds: Json[]): WatchHits | undefined {
  const round = rounds.find((one) => one.state === "done" && one.model?.watch);
  if (!round) return undefined;
  const watch = round.model.watch, hits: Json[] = watch.hits.filter((hit: Json) => stands_out(watch, hit));
  const of_a_layer = (hit: Json) => hit.layer ?? kWholeTraining;
  const checks = [...new Set(hits.map((hit) => String(hit.check)))];
  const layers = [...new Set(hits.map(of_a_layer))];
  return { round: round.number, looked: watch.looked, error: watch.error ?? 0, checks, layers: layers.map((name) => ({ name,
    shares: checks.map((check) => hits.find((hit) => hit.check === check && of_a_layer(hit) === name)?.share ?? null) })) };
}
