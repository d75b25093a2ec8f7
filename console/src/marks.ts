// What stands at an axis. No page and no request.

// Round numbers between the two, at most about `most` of them.
export function marks(low: number, high: number, most: number): number[] {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough)!;
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.max(0, Math.floor(high / step) - first + 1) }, (_, i) => (first + i) * step);
}
export const short = (value: number) => Number(value.toPrecision(6)).toString();
