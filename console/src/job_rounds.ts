// A job's attempts of rounds, newest first, asked for again and again as they go.
import { get, Json, list } from "./api";

const kRoundsMax = 2000, kPage = 500;
const key = (round: Json) => `${round.number}.${round.attempt}`;

// `known` with the newest page in place of what it covers; null: the page does not reach what is known.
export function renewed(known: Json[], page: Json[]): Json[] | null {
  if (page.length < kPage) return page;
  const at = known.findIndex((round) => key(round) === key(page.at(-1)!));
  return at < 0 ? null : [...page, ...known.slice(at + 1)].slice(0, kRoundsMax);
}

// All of them at first, later the newest page: only attempts under way change.
export async function rounds_of(path: string, known: Json[]): Promise<Json[]> {
  const page = known.length > 0 ? renewed(known, (await get(`${path}/rounds?limit=${kPage}`)).rounds) : null;
  return page ?? list(`${path}/rounds`, "rounds", kRoundsMax, "before");
}
