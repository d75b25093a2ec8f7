// How something of a round's updates is distributed: a histogram with its round's model, and quantiles of it as curves. No page and no request.
import type { Json } from "./api";
import type { Curves } from "./curves";
import type { Line } from "./series";

// From where to where a bucket goes (null: without an end), and how many updates are in it.
export type Bar = [number, number | null, number];
export const bars_of = ({ edges, counts }: Json): Bar[] => counts.map((count: number, i: number) => [edges[i], edges[i + 1], count]);

// The round whose histogram is shown: the one that the page shows, if it has one, else the newest that has. `rounds`: newest first.
export const round_with = (what: "update_norms" | "update_cosines", rounds: Json[], shown?: Json): Json | undefined => [shown, ...rounds].find((round) => round?.model?.[what]);

// Lines of these columns, by their names. Null: no round has any.
export function lines_of({ xs, columns }: Curves, named: [column: string, name: string][]): { xs: number[]; lines: Line[] } | null {
  return named.some(([column]) => columns[column]) ? { xs, lines: named.map(([column, name]): Line => [name, columns[column] ?? xs.map(() => null)]) } : null;
}
