#include "tools/demo/svg.h"

#include <cstdio>

#include "tools/cli/table.h"

namespace coterie {
namespace {

std::string attribute(std::string_view name, double value) {
  return " " + std::string(name) + "=\"" + svg_number(value) + "\"";
}

std::string element(std::string_view name, std::string_view style) {
  return "<" + std::string(name) + " class=\"" + std::string(style) + "\"";
}

std::string through(const std::vector<Svg::Point>& points) {
  std::string text = " points=\"";
  for (size_t i = 0; i < points.size(); ++i) {
    text += (i == 0 ? "" : " ") + svg_number(points[i].first) + "," + svg_number(points[i].second);
  }
  return text + "\"/>\n";
}

}  // namespace

std::string chart_style(std::string_view own) {
  return std::string(R"(text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; )"
                     R"(font-size: 12px; fill: #1b2330; }
.paper { fill: #ffffff; }
.title { font-size: 20px; font-weight: 600; }
.soft { fill: #5d6778; }
.rule { stroke: #e4e8ee; }
.axis { stroke: #8a94a6; }
)") + std::string(own);
}

std::string svg_number(double value) {
  char text[400];
  std::snprintf(text, sizeof text, "%.2f", value);
  std::string number(text);
  number.erase(number.find_last_not_of('0') + 1);
  if (number.back() == '.') number.pop_back();
  return number == "-0" ? "0" : number;
}

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : printable(text)) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

void Svg::line(std::string_view style, Point from, Point to) {
  body_ += element("line", style) + attribute("x1", from.first) + attribute("y1", from.second) +
           attribute("x2", to.first) + attribute("y2", to.second) + "/>\n";
}

void Svg::path(std::string_view style, const std::vector<Point>& points) {
  body_ += element("polyline", style) + through(points);
}

void Svg::polygon(std::string_view style, const std::vector<Point>& points) {
  body_ += element("polygon", style) + through(points);
}

void Svg::circle(std::string_view style, Point centre, double radius) {
  body_ += element("circle", style) + attribute("cx", centre.first) + attribute("cy", centre.second) +
           attribute("r", radius) + "/>\n";
}

void Svg::rectangle(std::string_view style, Point corner, double width, double height, double radius, double opacity,
                    std::string_view title) {
  body_ += element("rect", style) + attribute("x", corner.first) + attribute("y", corner.second) +
           attribute("width", width) + attribute("height", height);
  if (radius > 0) body_ += attribute("rx", radius);
  if (opacity < 1) body_ += attribute("fill-opacity", opacity);
  if (title.empty()) body_ += "/>\n";
  else body_ += "><title>" + xml_escaped(title) + "</title></rect>\n";
}

void Svg::text(std::string_view style, Point at, std::string_view text, Anchor anchor) {
  body_ += element("text", style) + attribute("x", at.first) + attribute("y", at.second);
  if (anchor != Anchor::start) body_ += anchor == Anchor::middle ? " text-anchor=\"middle\"" : " text-anchor=\"end\"";
  body_ += ">" + xml_escaped(text) + "</text>\n";
}

std::string Svg::document(double width, double height, std::string_view style_sheet, std::string_view title,
                          std::string_view description) const {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + svg_number(width) + " " + svg_number(height) +
         "\" width=\"" + svg_number(width) + "\" height=\"" + svg_number(height) + "\" role=\"img\">\n<title>" +
         xml_escaped(title) + "</title>\n<desc>" + xml_escaped(description) + "</desc>\n<style>\n" +
         std::string(style_sheet) + "</style>\n" + body_ + "</svg>\n";
}

}  // namespace coterie
