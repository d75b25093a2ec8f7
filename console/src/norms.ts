// What is known of the norms of a job's updates, and why no more is. No page and no request.
import type { Json } from "./api";
import type { Curves } from "./curves";
import type { Line } from "./series";

// Where the clip follows the updates it is their quantile, as noisy counts tell it: one number a round, and no distribution. Null: the clip is fixed.
export function clip_line(job: Json, { xs, columns }: Curves): { xs: number[]; lines: Line[] } | null {
  const share = job.spec.privacy?.adaptive_clip?.quantile ?? 0.5;
  return columns.clip_norm ? { xs, lines: [[`a share of ${share}`, columns.clip_norm]] } : null;
}

const kSums = "masked active active_dp".split(" ");
export function why_no_norms(job: Json): string {
  const level = String(job.spec.privacy?.level ?? "active"), follows = !!job.spec.privacy?.adaptive_clip;
  const why = kSums.includes(level) ? `At the level ${level} the server sees sums, and no single update: nobody knows how norms or cosines are distributed, and devices are not asked.` :
    "The server looks at each update, holds its norm against the clip, and keeps neither norms nor cosines.";
  return follows ? `${why} A clip that follows the updates tells one quantile of their norms, with noise that the ledger has.` :
    `${why} A clip that follows the updates (privacy.adaptive_clip) would tell one quantile of them.`;
}
