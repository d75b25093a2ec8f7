#include "tools/demo/chart_page.h"

#include <charconv>
#include <cmath>
#include <string_view>

#include "tools/demo/hash_source.h"
#include "tools/demo/svg.h"

namespace coterie {
namespace {

constexpr std::string_view kPageStyle = R"(:root { color-scheme: light dark; }
body { margin: 0; background: #ffffff; color: #1b2330; }
body { font: 14px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
.drawing { position: relative; max-width: 1200px; overflow-x: auto; }
.drawing:focus-visible { outline: 2px solid #2459c9; outline-offset: -2px; }
.drawing svg { display: block; width: 100%; min-width: 640px; height: auto; }
.cross { stroke: #5d6778; stroke-dasharray: 2 3; }
.mark { stroke: #ffffff; stroke-width: 2; }
.tip { position: absolute; left: var(--x); top: var(--y); min-width: 170px; padding: 8px 10px; pointer-events: none; }
.tip { border: 1px solid #c9d0da; border-radius: 6px; background: #ffffff; }
.tip[data-side="left"] { transform: translateX(calc(-100% - 24px)); }
.tip[hidden] { display: none; }
.tip span { display: flex; justify-content: space-between; gap: 14px; }
.tip i { font-style: normal; max-width: 260px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.tip b { font-variant-numeric: tabular-nums; white-space: nowrap; }
.hint, details { max-width: 1120px; margin: 8px 16px; color: #5d6778; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: 8px 0; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 10px; text-align: right; border-bottom: 1px solid #e4e8ee; white-space: nowrap; }
@media (max-width: 700px) {
.tip, .tip[data-side="left"] { position: fixed; left: 8px; right: 8px; top: auto; bottom: 8px; transform: none; }
}
@media (prefers-color-scheme: dark) {
body, .tip { background: #12161c; color: #e6eaf0; }
.tip { border-color: #3a4553; }
.hint, details { color: #9aa5b5; }
th, td { border-color: #2a323d; }
.drawing text { fill: #e6eaf0; }
.drawing .paper { fill: #12161c; }
.drawing .soft { fill: #9aa5b5; }
.drawing .rule { stroke: #2a323d; }
.drawing .axis, .drawing .leader { stroke: #667085; }
.drawing .cross { stroke: #9aa5b5; }
.drawing .main, .drawing .value { fill: #7aa7ff; }
.drawing .other { fill: #f0a35e; }
.drawing .curve { stroke: #7aa7ff; }
.drawing .dashed { stroke: #f0a35e; }
.drawing .dot { fill: #7aa7ff; stroke: #12161c; }
.drawing .dot2 { fill: #f0a35e; stroke: #12161c; }
.drawing .empty { fill: #1d242e; }
.drawing .on { fill: #0b0e13; }
.drawing .bar { fill: #b9773a; }
.drawing .c0 { stroke: #7aa7ff; } .drawing .f0 { fill: #7aa7ff; }
.drawing .c1 { stroke: #f0a35e; } .drawing .f1 { fill: #f0a35e; }
.drawing .c2 { stroke: #4fc3a1; } .drawing .f2 { fill: #4fc3a1; }
.drawing .c3 { stroke: #e58cba; } .drawing .f3 { fill: #e58cba; }
.drawing .c4 { stroke: #5ec4ea; } .drawing .f4 { fill: #5ec4ea; }
.drawing .c5 { stroke: #a9b4c4; } .drawing .f5 { fill: #a9b4c4; }
.drawing .mark { stroke: #12161c; }
}
)";

// Without < and &, which XML would have escaped.
constexpr std::string_view kScript = R"("use strict";
const drawing = document.getElementById("drawing"), tip = document.getElementById("tip");
const svg = drawing.querySelector("svg"), width = svg.viewBox.baseVal.width;
const heads = Array.from(document.querySelectorAll("thead th")).slice(1);
const rows = Array.from(document.querySelectorAll("tbody tr"));
const top_y = Number(drawing.dataset.top), bottom_y = Number(drawing.dataset.bottom);
const marks = svg.appendChild(document.createElementNS(svg.namespaceURI, "g"));
let shown = -1;
function draw(name, style, places) {
  const element = document.createElementNS(svg.namespaceURI, name);
  element.setAttribute("class", style);
  for (const [key, value] of Object.entries(places)) element.setAttribute(key, value);
  marks.append(element);
}
function worded(cell, head) {
  if (cell.textContent === "") return "none";
  const is_share = head.dataset.unit === "share", value = Number(cell.textContent);
  const half = cell.dataset.half === undefined ? "" : " +-" + (100 * Number(cell.dataset.half)).toFixed(1);
  return is_share ? (100 * value).toFixed(1) + half + " %" : value.toPrecision(4);
}
function told(name, value) {
  const line = document.createElement("span");
  for (const [kind, text] of [["i", name], ["b", value]]) {
    const part = document.createElement(kind);
    part.textContent = text;
    line.append(part);
  }
  tip.append(line);
}
function hide() {
  shown = -1;
  marks.replaceChildren();
  tip.hidden = true;
}
function show(index) {
  shown = Math.max(0, Math.min(rows.length - 1, index));
  marks.replaceChildren();
  tip.replaceChildren();
  const cells = Array.from(rows[shown].cells);
  told("round", cells.shift().textContent);
  for (const x of new Set(cells.map(cell => cell.dataset.x))) {
    draw("line", "cross", {x1: x, x2: x, y1: top_y, y2: bottom_y});
  }
  cells.forEach((cell, k) => {
    const {x, y} = cell.dataset;
    if (y !== undefined) draw("circle", "mark " + heads[k].dataset.style, {cx: x, cy: y, r: 5});
    told(heads[k].textContent, worded(cell, heads[k]));
  });
  tip.hidden = false;
}
function place(x) {
  const scale = svg.getBoundingClientRect().width / width;
  tip.dataset.side = x > width / 2 ? "left" : "right";
  tip.style.setProperty("--x", (x * scale + 12) + "px");
  tip.style.setProperty("--y", (top_y * scale + 12) + "px");
}
function point(event) {
  const box = svg.getBoundingClientRect();
  const x = (event.clientX - box.left) * width / box.width, y = (event.clientY - box.top) * width / box.width;
  if (y > bottom_y + 20 ? true : top_y - 20 > y) return hide();
  let best = -1, nearest = Infinity, at = 0;
  rows.forEach((row, index) => {
    for (const cell of Array.from(row.cells).slice(1)) {
      const distance = Math.abs(Number(cell.dataset.x) - x);
      if (nearest > distance) [best, nearest, at] = [index, distance, Number(cell.dataset.x)];
    }
  });
  if (best === -1) return;
  show(best);
  place(at);
}
drawing.addEventListener("pointermove", point);
drawing.addEventListener("pointerdown", point);
drawing.addEventListener("pointerleave", event => { if (event.pointerType === "mouse") hide(); });
drawing.addEventListener("keydown", event => {
  if (event.key === "Escape") return hide();
  const to = {ArrowLeft: shown - 1, ArrowRight: shown + 1, Home: 0, End: rows.length - 1}[event.key];
  if (to === undefined ? true : rows.length === 0) return;
  event.preventDefault();
  show(to);
  place(Number(rows[shown].cells[1].dataset.x));
});
)";

std::string attribute(std::string_view name, std::string_view value) {
  return " " + std::string(name) + "=\"" + xml_escaped(value) + "\"";
}

std::string attribute(std::string_view name, double value) { return attribute(name, svg_number(value)); }

// What is between `begin` and `end`, the first of each; empty without them.
std::string_view between(std::string_view text, std::string_view begin, std::string_view end) {
  const size_t from = text.find(begin);
  if (from == text.npos) return {};
  const size_t to = text.find(end, from + begin.size());
  return to == text.npos ? std::string_view() : text.substr(from + begin.size(), to - from - begin.size());
}

// Its title would stand over the crosshair's values: the page has it.
std::string without_title(std::string svg) {
  const std::string title = "<title>" + std::string(between(svg, "<title>", "</title>")) + "</title>\n";
  if (const size_t at = svg.find(title); at != svg.npos) svg.erase(at, title.size());
  return svg;
}

std::string head_of(const ChartPage& page) {
  const std::string styles = hash_source(kPageStyle) + " " + hash_source(between(page.svg, "<style>", "</style>"));
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
         "<meta http-equiv=\"Content-Security-Policy\"" +
         attribute("content", "default-src 'none'; style-src " + styles + "; script-src " + hash_source(kScript)) +
         "/>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>" +
         xml_escaped(page.title) + "</title>\n<style>" + std::string(kPageStyle) + "</style>\n</head>\n";
}

std::string cell_of(const PageCell& cell) {
  std::string text = "<td" + attribute("data-x", cell.x);
  const std::string value = shortest(cell.value);
  if (cell.y && std::isfinite(*cell.y) && !value.empty()) text += attribute("data-y", *cell.y);
  if (cell.half_width && std::isfinite(*cell.half_width)) text += attribute("data-half", shortest(cell.half_width));
  return text + ">" + value + "</td>";
}

std::string table_of(const ChartPage& page) {
  std::string table = "<table>\n<thead>\n<tr><th scope=\"col\">round</th>";
  for (const PageColumn& column : page.columns) {
    table += "<th scope=\"col\"" + attribute("data-style", column.style) +
             (column.is_share ? " data-unit=\"share\"" : "") + ">" + xml_escaped(column.name) + "</th>";
  }
  table += "</tr>\n</thead>\n<tbody>\n";
  for (const PageRow& row : page.rows) {
    table += "<tr><th scope=\"row\">" + std::to_string(row.round) + "</th>";
    for (const PageCell& cell : row.cells) table += cell_of(cell);
    table += "</tr>\n";
  }
  return table + "</tbody>\n</table>\n";
}

}  // namespace

std::string shortest(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return {};
  char text[40];
  return std::string(text, std::to_chars(text, text + sizeof text, *value).ptr);
}

std::string html_page(const ChartPage& page) {
  return head_of(page) + "<body>\n<main>\n<div id=\"drawing\" class=\"drawing\" tabindex=\"0\" role=\"application\"" +
         attribute("aria-label", page.title + "; arrow keys go from round to round") + attribute("data-top", page.top) +
         attribute("data-bottom", page.bottom) + ">\n" + without_title(page.svg) +
         "<div id=\"tip\" class=\"tip\" role=\"status\" aria-live=\"polite\" hidden=\"hidden\"></div>\n</div>\n"
         "<p class=\"hint\">Point at a round, or use the arrow keys.</p>\n"
         "<details>\n<summary>Every round in numbers</summary>\n<div class=\"scroll\">\n" +
         table_of(page) + "</div>\n</details>\n</main>\n<script>" + std::string(kScript) +
         "</script>\n</body>\n</html>\n";
}

}  // namespace coterie
