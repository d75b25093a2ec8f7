// A model's graph as boxes and arrows, with some of its blocks open. No page and no request. `graph` is ModelGraph of docs/openapi.json.
import type { Json } from "./api";

export const kBoxesMax = 250, kArrowsMax = 500;  // more than that nobody looks at, and their layout takes seconds

export const shape_text = (shape: number[] | null): string =>
  !shape ? "" : shape.map((size) => size >= 0 ? String(size) : size === -1 ? "batch" : `${-size}·batch`).join("×") || "scalar";

// `id`: "input-0", "op-3", "block-1", "output". `block`: the one it stands for; `around`: the innermost open block that it is in.
export type Box = { id: string; name: string; note: string; block?: number; around?: number; has_values: boolean };
export type Arrow = { from: string; to: string; shapes: string[] };
export type Boxes = { boxes: Box[]; arrows: Arrow[]; open: number[] };  // open: those of the open blocks that are seen

// The blocks around an op or a block, the outermost first.
function around(graph: Json, block: number | undefined): number[] {
  const blocks: number[] = [];
  for (let at = block; at !== undefined; at = graph.blocks[at].parent) blocks.unshift(at);
  return blocks;
}
export const path_of_op = (graph: Json, op: Json): string => around(graph, op.block).map((block) => graph.blocks[block].name).join(" > ");

export const counted = (count: number, what: string): string => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;

const parameters = (values: number): string => values ? counted(values, "parameter") : "";
export const note_of = (block: Json): string => [counted(block.ops, "op"), parameters(block.values)].filter(Boolean).join(", ");

export const are_drawn = ({ boxes, arrows }: Boxes): boolean => boxes.length <= kBoxesMax && arrows.length <= kArrowsMax;

export function boxes_of(graph: Json, open: ReadonlySet<number>): Boxes {
  const boxes = new Map<string, Box>(), seen_open = new Set<number>(), arrows = new Map<string, Arrow>();
  // The box that an op is seen in: its outermost block that is closed, or its own.
  const seen_in = graph.ops.map((op: Json, i: number): string => {
    const blocks = around(graph, op.block), closed = blocks.findIndex((block) => !open.has(block));
    blocks.slice(0, closed < 0 ? blocks.length : closed).forEach((block) => seen_open.add(block));
    const id = closed < 0 ? `op-${i}` : `block-${blocks[closed]}`;
    if (boxes.has(id)) return id;
    const inside = blocks[(closed < 0 ? blocks.length : closed) - 1], block = graph.blocks[blocks[closed]];
    boxes.set(id, closed < 0 ? { id, name: op.name, note: [op.kind, parameters(op.values)].filter(Boolean).join(", "), around: inside, has_values: op.values > 0 } :
      { id, name: block.name, note: note_of(block), block: blocks[closed], around: inside, has_values: block.values > 0 });
    return id;
  });
  const made = (by: Json): [string, string] | undefined => by.input !== undefined ? [`input-${by.input}`, shape_text(graph.inputs[by.input]?.shape)] :
    by.op < graph.ops.length ? [seen_in[by.op], shape_text(graph.ops[by.op].outputs[by.output])] : undefined;
  const connect = (by: Json, to: string) => {
    const [from, shape] = made(by) ?? [];
    if (!from || from === to) return;
    const key = `${from} ${to}`, arrow = arrows.get(key) ?? { from, to, shapes: [] };
    if (shape && !arrow.shapes.includes(shape)) arrow.shapes.push(shape);
    arrows.set(key, arrow);
  };
  const inputs = graph.inputs.map((input: Json, i: number): Box => ({ id: `input-${i}`, name: input.name, note: `input, ${input.type}`, has_values: false }));
  graph.ops.forEach((op: Json, i: number) => op.reads.forEach((by: Json) => connect(by, seen_in[i])));
  const has_output = graph.output && made(graph.output);
  if (has_output) connect(graph.output, "output");
  return { boxes: [...inputs, ...boxes.values(), ...(has_output ? [{ id: "output", name: "output", note: has_output[1], has_values: false }] : [])],
    arrows: [...arrows.values()], open: [...seen_open].sort((a, b) => a - b) };
}

// Of the blocks that an address names those that the graph has; none of them where that is more than is drawn.
export function openable(graph: Json, named: number[]): number[] {
  const open = named.filter((block) => block < graph.blocks.length);
  return are_drawn(boxes_of(graph, new Set(open))) ? open : [];
}

// `open` with one block more or less; what is in a block that closes closes, too. Undefined: that is more than is drawn.
export function toggled(graph: Json, open: ReadonlySet<number>, block: number): Set<number> | undefined {
  const next = open.has(block) ? new Set([...open].filter((one) => !around(graph, one).includes(block))) : new Set([...open, block]);
  return open.has(block) || are_drawn(boxes_of(graph, next)) ? next : undefined;
}
