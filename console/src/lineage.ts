// Where versions of models come from. No page and no request.
import type { Json } from "./api";

export type Version = { job: Json; model: Json; round?: Json; from?: { job: Json; version: number } };

// The versions of `jobs`, newest first, each with the round that made it; an initial model that is a version of another of these jobs
// says of which. `models` and `rounds` are of the jobs, in their order; a round may be gone.
export function lineage(jobs: Json[], models: Json[][], rounds: Json[][]): Version[] {
  const made = new Map<string, { job: Json; version: number }>();
  models.forEach((of, i) => of.forEach((model) => { if (model.version > 0) made.set(model.digest, { job: jobs[i], version: model.version }); }));
  const found = jobs.flatMap((job, i) => {
    const makers = new Map(rounds[i].filter((round) => round.model).map((round) => [round.model.version, round]));
    return models[i].map((model): Version => {
      const from = model.version === 0 ? made.get(model.digest) : undefined;
      return { job, model, round: makers.get(model.version), ...(from && from.job !== job ? { from } : {}) };
    });
  });
  return found.sort((a, b) => a.model.created < b.model.created ? 1 : a.model.created > b.model.created ? -1 : b.model.version - a.model.version);
}
