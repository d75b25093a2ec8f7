// Where the boxes of a model's graph stand, by dagre: layers from top to bottom. No page and no request.
import dagre from "@dagrejs/dagre";
import type { Arrow, Box, Boxes } from "./model_boxes";

const kLetter = 7.2, kNameMax = 30, kBoxHeight = 42, kHeadHeight = 26, kLabelHeight = 16, kPadding = 20;
export const cut = (text: string, most = kNameMax): string => text.length > most ? text.slice(0, most - 1) + "…" : text;
export const label_of = (arrow: Arrow): string => arrow.shapes.length < 2 ? arrow.shapes[0] ?? "" : `${arrow.shapes[0]} and ${arrow.shapes.length - 1} more`;

export type Place = { x: number; y: number; width: number; height: number };  // x, y: of the upper left corner
export type Layout = { width: number; height: number; boxes: (Place & { box: Box })[]; frames: (Place & { block: number; head: Place })[];  // head: where its name stands
  arrows: { arrow: Arrow; points: { x: number; y: number }[]; label?: Place }[] };

// `shown`: a name as the page shows it, whose letters need the room.
export type Blocks = { parent_of: (block: number) => number | undefined; name_of: (block: number) => string; shown: (text: string) => string };
export function layout_of({ boxes, arrows, open }: Boxes, { parent_of, name_of, shown }: Blocks): Layout {
  const graph = new dagre.graphlib.Graph({ compound: true, multigraph: false });
  graph.setGraph({ rankdir: "TB", nodesep: 20, ranksep: 28, marginx: kPadding, marginy: kPadding });
  for (const block of open) graph.setNode(`frame-${block}`, {});
  for (const box of boxes) {
    const letters = Math.max(cut(shown(box.name)).length + (box.block === undefined ? 0 : 2), cut(box.note).length * 0.9);
    graph.setNode(box.id, { width: Math.max(90, letters * kLetter + 24), height: kBoxHeight });
    if (box.around !== undefined) graph.setParent(box.id, `frame-${box.around}`);
  }
  for (const block of open) {
    const parent = parent_of(block);
    if (parent !== undefined) graph.setParent(`frame-${block}`, `frame-${parent}`);
  }
  for (const arrow of arrows) graph.setEdge(arrow.from, arrow.to, { width: label_of(arrow).length * 6.2 + 8, height: kLabelHeight, labelpos: "c" });
  dagre.layout(graph);
  const place = (node: { x: number; y: number; width: number; height: number }): Place => ({ x: node.x - node.width / 2, y: node.y - node.height / 2, width: node.width, height: node.height });
  // A block's head stands on the upper edge of its frame, beside that of the block around it where both begin together.
  const frames: Layout["frames"] = [];
  for (const block of open) {
    const { x, y, width, height } = place(graph.node(`frame-${block}`) as Place), parent = frames.find((one) => one.block === parent_of(block))?.head;
    const top = y - kHeadHeight / 2, head_y = top - kHeadHeight / 2, beside = parent && Math.abs(parent.y - head_y) < kHeadHeight ? parent.x + parent.width + 6 : x;
    frames.push({ block, x, y: top, width, height: height + kHeadHeight / 2, head: { x: Math.max(x, beside), y: head_y, width: cut(shown(name_of(block))).length * 7.6 + 30, height: 22 } });
  }
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return { width, height, frames, boxes: boxes.map((box) => ({ box, ...place(graph.node(box.id) as Place) })),
    arrows: arrows.map((arrow) => {
      const edge = graph.edge(arrow.from, arrow.to) as { points: { x: number; y: number }[] } & Partial<Place>;
      return { arrow, points: edge.points, label: edge.x === undefined || !label_of(arrow) ? undefined : place(edge as Place) };
    }) };
}
