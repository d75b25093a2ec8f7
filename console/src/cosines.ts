// What is known of where a job's updates point, and why no more is. No page and no request.
import type { Json } from "./api";

// The cosines that shares of the updates are below, where the server has counted them.
export const kCosineLines: [string, string][] = [["update_cosine_p10", "a tenth below"], ["update_cosine_p50", "half below"], ["update_cosine_p90", "nine tenths below"]];

// At level none, without noise.
export function about_cosines(job: Json): string {
  const rule = String(job.spec.aggregation?.rule ?? "mean");
  if (rule === "mean") return "Cosines are of jobs whose aggregation.rule compares single updates: elsewhere the server adds an update up as it comes, and the mean to compare it with is there only when the update is gone.";
  return `The cosine of each update is with the step that ${rule} made of all of the round's, before the strategy: 1 points where the step does, 0 across, and below 0 against it.`;
}

// Of a histogram of cosines: which updates are in none of its buckets.
export const without_cosine = ({ undirected }: Json): string => undirected ? ` ${undirected} without a cosine, as ${undirected === 1 ? "it is" : "they are"} zero or the step is.` : "";
