// Lines over rounds, made fit to be drawn.
export type Values = (number | null)[];
export type Line = [string, Values, Spread?];
export type Spread = { low: Values; high: Values };  // of a line: the band around it
export const kPointsMax = 1000;  // of a line, about two a pixel of a wide figure

// Several runs over the rounds of all of them together; where a run has no such round is a gap.
export function aligned(runs: { name: string; xs: number[]; ys: Values; spread?: Spread }[]): { xs: number[]; lines: Line[] } {
  const xs = [...new Set(runs.flatMap((run) => run.xs))].sort((a, b) => a - b);
  const place = new Map(xs.map((x, i) => [x, i]));
  const over = (of: number[], values: Values) => {
    const ys: Values = xs.map(() => null);
    of.forEach((x, i) => { ys[place.get(x)!] = values[i]; });
    return ys;
  };
  return { xs, lines: runs.map(({ name, xs: of, ys, spread }): Line => spread ?
    [name, over(of, ys), { low: over(of, spread.low), high: over(of, spread.high) }] : [name, over(of, ys)]) };
}

// Lines and the edges of their bands, lines first; `bands`: places of an upper and a lower edge, and of the line that they are of.
export function with_edges(lines: Line[]): { all: Line[]; bands: { upper: number; lower: number; of: number }[] } {
  const all = lines.map(([name, ys]): Line => [name, ys]), bands: { upper: number; lower: number; of: number }[] = [];
  lines.forEach(([name, , spread], of) => {
    if (!spread) return;
    bands.push({ upper: all.length, lower: all.length + 1, of });
    all.push([`${name}, high`, spread.high], [`${name}, low`, spread.low]);
  });
  return { all, bands };
}

// At most about `most` of the points: of each stretch of rounds a line keeps its least and its greatest value, in their order, at
// the stretch's ends. So no peak is lost, and a point stands at most a stretch beside its place.
export function thinned(xs: number[], lines: Line[], most = kPointsMax): { xs: number[]; lines: Line[] } {
  if (xs.length <= most) return { xs, lines };
  const stretches = Math.floor(most / 2), bounds = Array.from({ length: stretches + 1 }, (_, i) => Math.round(i * xs.length / stretches));
  const kept = bounds.slice(1).flatMap((end, i) => [xs[bounds[i]], xs[end - 1]]);
  return { xs: kept, lines: lines.map(([name, ys]) => [name, bounds.slice(1).flatMap((end, i) => {
    let low = -1, high = -1;
    for (let at = bounds[i]; at < end; at++) {
      const y = ys[at];
      if (y === null) continue;
      if (low < 0 || y < ys[low]!) low = at;
      if (high < 0 || y > ys[high]!) high = at;
    }
    return low < 0 ? [null, null] : [ys[Math.min(low, high)], ys[Math.max(low, high)]];
  })]) };
}
