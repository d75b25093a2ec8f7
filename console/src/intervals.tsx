// Values of groups, each with the interval that it lies in.
import { useRef } from "preact/hooks";
import { marks, short } from "./marks";
import { Drawing, useWidth } from "./parts";
import { number, shown } from "./text";

export type Ranged = { name: string; value: number; low: number | null; high: number | null };
const kRow = 24, kTop = 8, kBottom = 26, kLeft = 132, kRight = 24, kNameMax = 17;
const cut = (text: string) => text.length > kNameMax ? text.slice(0, kNameMax - 1) + "…" : text;
const said = ({ name, value, low, high }: Ranged) => `${name} ${number(value)}` + (low === null || high === null ? "" : ` from ${number(low)} to ${number(high)}`);

export function Intervals({ name, group_name, rows }: { name: string; group_name: string; rows: Ranged[] }) {
  const place = useRef<HTMLDivElement>(null);
  const width = useWidth(place);
  const all = rows.flatMap(({ value, low, high }) => [value, low ?? value, high ?? value]);
  const least = Math.min(...all), most = Math.max(...all), margin = (most - least) * 0.05 || Math.abs(least) * 0.1 || 1;
  const x_of = (x: number) => kLeft + (x - least + margin) / (most - least + 2 * margin) * (width - kLeft - kRight);
  const height = kTop + rows.length * kRow + kBottom;
  return <Drawing name={name} says={rows.map(said).join("; ")} head={[group_name, "value", "low", "high"]} rows={rows.map((row) => [row.name, row.value, row.low, row.high])}>
    <div ref={place}><svg width={width} height={height} class="drawn" aria-hidden="true">
      {marks(least - margin, most + margin, width > 500 ? 6 : 3).map((x) => <><line class="grid" x1={x_of(x)} x2={x_of(x)} y1={kTop} y2={height - kBottom} />
        <text x={x_of(x)} y={height - 8} text-anchor="middle">{short(x)}</text></>)}
      {rows.map((row, i) => { const y = kTop + (i + 0.5) * kRow; return <g><title>{shown(said(row))}</title>
        <text x={kLeft - 10} y={y + 4} text-anchor="end">{cut(shown(row.name))}</text>
        {row.low !== null && row.high !== null && <path class="whisker" d={`M${x_of(row.low)} ${y - 5}v10m0 -5H${x_of(row.high)}m0 -5v10`} />}
        <circle cx={x_of(row.value)} cy={y} r="4.5" style={{ fill: "var(--line-0)" }} /></g>; })}
    </svg></div></Drawing>;
}
