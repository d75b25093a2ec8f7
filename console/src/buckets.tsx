// How many updates are in which bucket: a bar each.
import { useRef } from "preact/hooks";
import type { Bar } from "./distribution";
import { Drawing, useWidth } from "./parts";
import { number } from "./text";

const kHeight = 180, kFoot = 18, kHead = 16, kBarMax = 56;
export const edge = (value: number | null) => value === null ? "∞" : Number(value.toPrecision(3)).toString();

// `told`: below the bars. Of the edges each `every`th has its number, or each second of these, as there is room.
export function Buckets({ name, says, bars, every = 1, told }: { name: string; says: string; bars: Bar[]; every?: number; told: string }) {
  const place = useRef<HTMLDivElement>(null), width = useWidth(place);
  const bar = Math.min(kBarMax, width / bars.length), most = Math.max(1, ...bars.map(([, , count]) => count));
  const labelled = every * Math.ceil(44 / bar / every);
  return <Drawing name={name} says={says} head={["from", "below", "updates"]} rows={bars}>
    <div ref={place}><svg class="drawn" width={width} height={kHead + kHeight + kFoot} aria-hidden="true">
      {bars.map(([from, below, count], i) => {
        const height = count && Math.max(1, count / most * kHeight), top = kHead + kHeight - height;
        return <g><rect x={i * bar} width={Math.max(1, bar - 1)} y={top} height={height} style={{ fill: "var(--line-0)" }}><title>{edge(from)} to {edge(below)}: {number(count)}</title></rect>
          {count > 0 && bar >= 28 && <text x={(i + 0.5) * bar} y={top - 4} text-anchor="middle">{number(count)}</text>}
          {i % labelled === 0 && <text x={i * bar} y={kHead + kHeight + 14}>{edge(from)}</text>}</g>;
      })}
      <line class="grid" x1="0" x2={width} y1={kHead + kHeight} y2={kHead + kHeight} /></svg></div>
    <p><small>{told}</small></p></Drawing>;
}
