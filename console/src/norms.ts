// What is known of the norms of a job's updates, and why no more is. No page and no request.
import type { Json } from "./api";
import type { Curves } from "./curves";
import type { Line } from "./series";

// Where the clip follows the updates it is their quantile, as noisy counts tell it: one number a round, and no distribution. Null: the clip is fixed.
export function clip_line(job: Json, { xs, columns }: Curves): { xs: number[]; lines: Line[] } | null {
  const share = job.spec.privacy?.adaptive_clip?.quantile ?? 0.5;
  return columns.clip_norm ? { xs, lines: [[`a share of ${share}`, columns.clip_norm]] } : null;
}

export const kNormColumns = ["update_norm_p10", "update_norm_p50", "update_norm_p90"];
const kNames = ["a tenth within", "half within", "nine tenths within"];
// The norms that shares of the updates are within, where the server has counted them. Null: in no round.
export function share_lines({ xs, columns }: Curves): { xs: number[]; lines: Line[] } | null {
  return kNormColumns.some((name) => columns[name]) ? { xs, lines: kNormColumns.map((name, i): Line => [kNames[i], columns[name] ?? xs.map(() => null)]) } : null;
}

// The round whose norms are shown: the one that the page shows, if it has them, else the newest that has. `rounds`: newest first.
export const round_with_norms = (rounds: Json[], shown?: Json): Json | undefined => [shown, ...rounds].find((round) => round?.model?.update_norms);

// From where to where a bucket goes (null: without an end), and how many updates are in it.
export const norm_bars = ({ update_norms: { edges, counts } }: Json): [number, number | null, number][] => counts.map((count: number, i: number) => [edges[i], edges[i + 1], count]);

const kSums = "masked active active_dp".split(" ");
// `has_norms`: a round of the job has a histogram.
export function why_no_norms(job: Json, has_norms = false): string {
  const level = String(job.spec.privacy?.level ?? "active"), follows = !!job.spec.privacy?.adaptive_clip;
  const clip = follows ? "A clip that follows the updates tells one quantile of their norms, with noise that the ledger has." :
    "A clip that follows the updates (privacy.adaptive_clip) would tell one quantile of them.";
  if (kSums.includes(level)) return `At the level ${level} the server sees sums, and no single update: nobody knows how norms or cosines are distributed, and devices are not asked. ${clip}`;
  if (job.spec.privacy?.noise_multiplier > 0) return `The job has noise so that no single update shows, and a histogram without noise would show one: there is none. ${clip}`;
  const cosines = "Cosines are left out: the server adds an update up as it comes, and the mean to compare it with is there only when the update is gone.";
  if (has_norms) return `The server counts the norm of each update as it adds the update up, in buckets of which each is 1.41 times as wide as the one before. ${cosines}`;
  return `No round here has a histogram of norms. One that is done has, unless its updates are rounded to levels or have running statistics among their values, or a server of an earlier version took some of them. ${cosines}`;
}
