// What each head of a training with several came to on held-out data, by its output's name. No page and no request.
import type { Json } from "./api";
import type { Curves } from "./curves";
import type { Line } from "./series";

const kFigures: [figure: string, name: string][] = [["loss", "Loss"], ["accuracy", "Accuracy"], ["mae", "Mean absolute error"]];
const column_of = (figure: string, output: string) => `evaluation_${figure}.${output}`;

// A round's figures, by the columns that curves have them in.
export const head_figures = (round: Json): [column: string, value: number][] => (round.model?.evaluation_heads ?? []).flatMap((head: Json) =>
  kFigures.filter(([figure]) => typeof head[figure] === "number").map(([figure]) => [column_of(figure, head.output), head[figure]]));

// A chart of each figure that any head has, a line each head.
export const head_charts = ({ xs, columns }: Curves): { name: string; xs: number[]; lines: Line[] }[] => kFigures.flatMap(([figure, name]) => {
  const prefix = column_of(figure, ""), lines = Object.keys(columns).filter((column) => column.startsWith(prefix)).map((column): Line => [column.slice(prefix.length), columns[column]]);
  return lines.length ? [{ name: `${name} by head`, xs, lines }] : [];
});
