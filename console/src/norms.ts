// What is known of the norms of a job's updates, and why no more is. No page and no request.
import type { Json } from "./api";
import { about_cosines } from "./cosines";
import type { Curves } from "./curves";
import type { Line } from "./series";

// Where the clip follows the updates it is their quantile, as noisy counts tell it: one number a round, and no distribution. Null: the clip is fixed.
export function clip_line(job: Json, { xs, columns }: Curves): { xs: number[]; lines: Line[] } | null {
  const share = job.spec.privacy?.adaptive_clip?.quantile ?? 0.5;
  return columns.clip_norm ? { xs, lines: [[`a share of ${share}`, columns.clip_norm]] } : null;
}

// The norms that shares of the updates are within, where the server has counted them.
export const kNormLines: [string, string][] = [["update_norm_p10", "a tenth within"], ["update_norm_p50", "half within"], ["update_norm_p90", "nine tenths within"]];

const kSums = "masked active active_dp".split(" ");
// `has_norms`: a round of the job has a histogram.
export function why_no_norms(job: Json, has_norms = false): string {
  const level = String(job.spec.privacy?.level ?? "active"), follows = !!job.spec.privacy?.adaptive_clip;
  const clip = follows ? "A clip that follows the updates tells one quantile of their norms, with noise that the ledger has." :
    "A clip that follows the updates (privacy.adaptive_clip) would tell one quantile of them.";
  if (kSums.includes(level)) return `At the level ${level} the server sees sums, and no single update: nobody knows how norms or cosines are distributed, and devices are not asked. ${clip}`;
  if (job.spec.privacy?.noise_multiplier > 0) return `The job has noise so that no single update shows, and a histogram of norms or cosines without noise would show one: there is none. ${clip}`;
  const cosines = about_cosines(job);
  if (has_norms) return `The server counts the norm of each update as it adds the update up, in buckets of which each is 1.41 times as wide as the one before. ${cosines}`;
  return `No round here has a histogram of norms. One that is done has, unless its updates are rounded to levels or have running statistics among their values, or a server of an earlier version took some of them. ${cosines}`;
}
