// Svg: the few shapes our chart is made of, as text. Every shape has a class; the style sheet says what it looks like.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coterie {

enum class Anchor { start, middle, end };

class Svg {
 public:
  using Point = std::pair<double, double>;

  void line(std::string_view style, Point from, Point to);
  void path(std::string_view style, const std::vector<Point>& points);
  void polygon(std::string_view style, const std::vector<Point>& points);
  void circle(std::string_view style, Point centre, double radius);
  // `opacity` below 1 is written; `title` shows when the pointer rests on it.
  void rectangle(std::string_view style, Point corner, double width, double height, double radius = 0,
                 double opacity = 1, std::string_view title = {});
  void text(std::string_view style, Point at, std::string_view text, Anchor anchor = Anchor::start);

  // The whole document. `title` and `description` are for those who do not see it.
  std::string document(double width, double height, std::string_view style_sheet, std::string_view title,
                       std::string_view description) const;

 private:
  std::string body_;
};

// The style sheet of a chart: what all of ours have (text, .paper, .title, .soft, .rule, .axis), and `own` behind it.
std::string chart_style(std::string_view own);

// A number with at most two decimals: "12", "12.5", "-0.25".
std::string svg_number(double value);

// `text` with &, <, >, " escaped. What XML forbids, what is no UTF-8 and what turns text around is '?' (table.h).
std::string xml_escaped(std::string_view text);

}  // namespace coterie
