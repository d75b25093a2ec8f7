// Lines over rounds, made fit to be drawn.
export type Line = [string, (number | null)[]];
export const kPointsMax = 1000;  // of a line, about two a pixel of a wide figure

// Several runs over the rounds of all of them together; where a run has no such round is a gap.
export function aligned(runs: { name: string; xs: number[]; ys: (number | null)[] }[]): { xs: number[]; lines: Line[] } {
  const xs = [...new Set(runs.flatMap((run) => run.xs))].sort((a, b) => a - b);
  const place = new Map(xs.map((x, i) => [x, i]));
  return { xs, lines: runs.map((run) => {
    const ys: (number | null)[] = xs.map(() => null);
    run.xs.forEach((x, i) => { ys[place.get(x)!] = run.ys[i]; });
    return [run.name, ys];
  }) };
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
