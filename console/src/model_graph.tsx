// The drawing of a model: boxes of ops and blocks, which open and close, and arrows with the shapes that flow.
import { useMemo, useState } from "preact/hooks";
import type { Json } from "./api";
import { are_drawn, boxes_of, counted, kArrowsMax, kBoxesMax, note_of, path_of_op, shape_text, toggled } from "./model_boxes";
import { cut, label_of, Layout, layout_of, Place } from "./model_layout";
import { Figure, Said, Table } from "./parts";
import { number, shown } from "./text";

const line_of = (points: { x: number; y: number }[]) => points.map(({ x, y }, i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

// A block's switch: its box while it is closed, the head of its frame while it is open.
function Switch({ place, block, is_open, toggle }: { place: Place; block: Json; is_open: boolean; toggle: () => void }) {
  const name = shown(block.name), note = note_of(block), visible = is_open ? cut(name) : `${cut(name)} ${cut(note)}`;
  const key = (event: KeyboardEvent) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); toggle(); } };
  return <g class="block" role="button" tabindex={0} aria-expanded={is_open} aria-label={visible.includes("…") || is_open ? `${visible}: block ${name}, ${note}` : visible} onClick={toggle} onKeyDown={key}>
    <rect x={place.x} y={place.y} width={place.width} height={place.height} rx="6" />
    <path class="mark" d={is_open ? `M${place.x + 8} ${place.y + 8}h8l-4 6z` : `M${place.x + 8} ${place.y + 8}v8l6 -4z`} />
    {is_open ? <text x={place.x + 22} y={place.y + 15}>{cut(name)}</text> : <><text x={place.x + place.width / 2} y={place.y + 17} text-anchor="middle">{cut(name)}</text>{" "}
      <text class="note" x={place.x + place.width / 2} y={place.y + 33} text-anchor="middle">{cut(note)}</text></>}</g>;
}

function Picture({ layout, graph, is_open, toggle }: { layout: Layout; graph: Json; is_open: (block: number) => boolean; toggle: (block: number) => void }) {
  // Frames and closed blocks are one list by their blocks, so that who has opened one with the keyboard stays on it.
  const switches = [...layout.frames.map(({ head, block }) => ({ place: head, block })), ...layout.boxes.flatMap((place) => place.box.block === undefined ? [] : [{ place, block: place.box.block }])]
    .sort((a, b) => a.block - b.block);
  return <svg class="drawn" width={layout.width} height={layout.height} role="group" aria-label="Boxes of the graph">
    <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" /></marker></defs>
    <g aria-hidden="true">{layout.frames.map((place) => <rect class="frame" x={place.x} y={place.y} width={place.width} height={place.height} rx="8" />)}
      {layout.arrows.map(({ points }) => <path class="arrow" d={line_of(points)} marker-end="url(#arrow)" />)}
      {layout.arrows.map(({ arrow, label }) => label && <g><rect class="behind" x={label.x} y={label.y} width={label.width} height={label.height} />
        <text class="note" x={label.x + label.width / 2} y={label.y + 12} text-anchor="middle">{label_of(arrow)}</text><title>{arrow.shapes.join(", ")}</title></g>)}
      {layout.boxes.map((place) => place.box.block === undefined && <g class={place.box.has_values ? "op valued" : "op"}><title>{shown(place.box.name)}: {place.box.note}</title>
        <rect x={place.x} y={place.y} width={place.width} height={place.height} rx="3" />
        <text x={place.x + place.width / 2} y={place.y + 17} text-anchor="middle">{cut(shown(place.box.name))}</text>
        <text class="note" x={place.x + place.width / 2} y={place.y + 33} text-anchor="middle">{cut(place.box.note)}</text></g>)}</g>
    {switches.map(({ place, block }) => <Switch key={`block-${block}`} place={place} block={graph.blocks[block]} is_open={is_open(block)} toggle={() => toggle(block)} />)}
  </svg>;
}

// `open`: blocks, as the address has them; `opened` is told when they change.
export function ModelGraph({ graph, open, opened }: { graph: Json; open: number[]; opened: (open: number[]) => void }) {
  const [error, set_error] = useState("");
  const key = open.join();
  const now = useMemo(() => new Set(open), [key]);
  const boxes = useMemo(() => boxes_of(graph, now), [graph, key]);
  const layout = useMemo(() => are_drawn(boxes) && layout_of(boxes, { parent_of: (block) => graph.blocks[block].parent, name_of: (block) => graph.blocks[block].name, shown }), [boxes]);
  const toggle = (block: number) => {
    const next = toggled(graph, now, block);
    set_error(next ? "" : `More than ${kBoxesMax} boxes or ${kArrowsMax} arrows are not drawn: close another block first.`);
    if (next) opened([...next].sort((a, b) => a - b));
  };
  const name_of = (by: Json) => by.input !== undefined ? graph.inputs[by.input]?.name : graph.ops[by.op]?.name;
  const rows = graph.ops.map((op: Json) => [op.name, op.kind, path_of_op(graph, op), op.reads.map((by: Json) => shown(name_of(by))).join(", "), op.outputs.map(shape_text).join(", "),
    op.parameters.map((one: Json) => `${one.name} ${shape_text(one.shape)}`).join(", ") + (op.shared_parameters ? ` and ${op.shared_parameters} of ops before` : ""), number(op.values)]);
  const head = ["op", "kind", "block", "reads", "output", "parameters", "values"];
  return <section class="model-graph"><Figure name="Graph" head={["from", "to", "shape"]} rows={boxes.arrows.map((arrow) => [arrow.from, arrow.to, arrow.shapes.join(", ")])}>
      <p class="bar"><span>{!graph.blocks.length ? "The model has no blocks." : layout && "Press a block to open or close it."} The table of ops says the same in words.</span>
        {open.length > 0 && <button class="plain" onClick={() => { set_error(""); opened([]); }}>Close all blocks</button>}</p>
      <Said error={error} />
      {graph.ops_left_out > 0 && <p>{counted(graph.ops_left_out, "further op")} are not shown.</p>}
      {layout ? <div class="wide picture" tabIndex={0} role="region" aria-label="Graph"><Picture layout={layout} graph={graph} is_open={(block) => now.has(block)} toggle={toggle} /></div> :
        <p>More than {kArrowsMax} arrows are not drawn, and it has {boxes.arrows.length}.</p>}</Figure>
    <Table name="Ops" head={head} rows={rows} /></section>;
}
