// A job with its curves, its newest attempts of rounds and its newest models: at first, and later what may have changed.
import { get, Json, list } from "./api";
import { Curves, curves_of, extended, kAllPoints, kCurvePoints, kNone } from "./curves";

// rounds: attempts, newest first; models: oldest first. `is_whole`: rounds and models are all that there are, up to kRoundsMax.
export type Asked = { job: Json; curves: Curves; rounds: Json[]; models: Json[]; is_whole: boolean };
export const kNothing: Asked = { job: {}, curves: kNone, rounds: [], models: [], is_whole: false };

export const kRoundsMax = 20_000, kFirst = 100;  // attempts that the first page has
const kAgain = 20;                               // that are asked for again: only those under way change
export const key = (round: Json) => `${round.number}.${round.attempt}`;

// `known` with its newest attempts, `page`, of at most `most`, in place of what they cover, and `keep` in all; null: they do not reach what is known.
export function renewed(known: Json[], page: Json[], most: number, keep: number): Json[] | null {
  if (page.length < most) return page;
  const at = known.findIndex((round) => key(round) === key(page.at(-1)!));
  return at < 0 ? null : [...page, ...known.slice(at + 1)].slice(0, keep);
}

// `known` and what rounds made since, marked as the job has it released now. What is marked so already stays the same object.
export function with_made(known: Json[], rounds: Json[], job: Json): Json[] {
  const last = known.at(-1)?.version ?? -1;
  const made = rounds.filter((round) => round.model?.version > last).map((round) => round.model).reverse();
  const is_released = (model: Json) => model.version === job.released?.version;
  return [...known, ...made].map((model) => model.released === is_released(model) ? model : { ...model, released: is_released(model) });
}

// What the first page asks, side by side: the address alone says it, so that it may be asked before anything else is known.
export const first_questions = (path: string): string[] => [path, `${path}/rounds?limit=${kFirst}`, curves_question(path)];
export const curves_question = (path: string, points = kCurvePoints) => `${path}/curves?points=${points}`;
export const curves_of_path = async (path: string): Promise<Curves> => curves_of(await get(curves_question(path)));
export const all_curves = async (path: string): Promise<Curves> => curves_of(await get(curves_question(path, kAllPoints)));

// Versions are told by the rounds that made them, but for the one that the job began from, which is asked for where it is among the newest.
async function first_of(path: string): Promise<Asked> {
  const [job, { rounds }, curves] = await Promise.all(first_questions(path).map(get)), is_whole = rounds.length < kFirst;
  // Rounds that are gone may have made a version that is not.
  const models = !is_whole ? [] : rounds.at(-1)?.number > 1 ? await list(`${path}/models`, "models", kRoundsMax) : (await get(`${path}/models?limit=1`)).models;
  return { job, rounds, curves: curves_of(curves), models: with_made(models, rounds, job), is_whole };
}

export async function asked_of(path: string, known: Asked): Promise<Asked> {
  if (known.rounds.length === 0) return first_of(path);
  const [job, page] = await Promise.all([get(path), get(`${path}/rounds?limit=${kAgain}`)]);
  const keep = known.is_whole ? kRoundsMax : kFirst, rounds = renewed(known.rounds, page.rounds, kAgain, keep);
  if (!rounds) return known.is_whole ? whole_of(path) : first_of(path);
  const curves = extended(known.curves, rounds) ?? await curves_of_path(path);
  return { job, rounds, curves, models: with_made(known.models, rounds, job).slice(-keep), is_whole: known.is_whole };
}

export async function whole_of(path: string): Promise<Asked> {
  const [job, rounds, curves, models] = await Promise.all([get(path), list(`${path}/rounds`, "rounds", kRoundsMax, "before"), curves_of_path(path), list(`${path}/models`, "models", kRoundsMax)]);
  return { job, rounds, curves, models: with_made(models, rounds, job), is_whole: true };
}
