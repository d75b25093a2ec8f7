// The twin of a chart as a page: the same drawing, a crosshair and the values of the round that is pointed at. Pure.
//
// One file that asks for nothing: its policy (CSP) is default-src 'none', with the hashes of its own style sheets and
// its own script. The values stand in a table, which is there for who sees no drawing; the script reads them from it.
// Arrow keys, Home, End and Escape move the crosshair. The page is well-formed XML behind its first line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace coterie {

struct PageColumn {
  std::string name;       // "accuracy"
  std::string style;      // the class of its mark in the drawing
  bool is_share = false;  // in [0, 1], told in percent
};

struct PageCell {
  std::optional<double> value;       // none, or not finite: the cell is empty
  double x = 0;                      // where its round is in the drawing
  std::optional<double> y;           // and its value
  std::optional<double> half_width;  // of its interval
};

struct PageRow {
  uint64_t round = 0;
  std::vector<PageCell> cells;  // one a column
};

struct ChartPage {
  std::string title;
  std::string svg;             // a document of Svg
  double top = 0, bottom = 0;  // of the part that rounds are drawn in
  std::vector<PageColumn> columns;
  std::vector<PageRow> rows;
};

std::string html_page(const ChartPage& page);

// Shortest text that reads back as the same number; empty for none, or one that is not finite.
std::string shortest(std::optional<double> value);

}  // namespace coterie
