#include "tools/model_report/page_parts.h"

#include "tools/demo/svg.h"

namespace coterie {
namespace {

std::string opened(std::string_view element, std::string_view style) {
  return "<" + std::string(element) + (style.empty() ? ">" : " class=\"" + std::string(style) + "\">");
}

// An interval in brackets goes to the line below where the screen is narrow.
std::string cell(std::string_view text) {
  const size_t bracket = text.ends_with(')') ? text.find(" (") : text.npos;
  if (bracket == text.npos) return "<td>" + page_text(text) + "</td>";
  return "<td class=\"pair\">" + page_text(text.substr(0, bracket)) + " <span>" + page_text(text.substr(bracket + 1)) +
         "</span></td>";
}

}  // namespace

std::string page_text(std::string_view text) { return xml_escaped(text); }

std::string fact(std::string_view name, std::string_view value) {
  return "<tr><th scope=\"row\">" + page_text(name) + "</th><td class=\"text\">" + page_text(value) + "</td></tr>\n";
}

std::string row(const std::vector<std::string>& cells, std::string_view style, const std::string& drawing) {
  std::string text = opened("tr", style);
  for (size_t i = 0; i < cells.size(); ++i) {
    text += i == 0 ? "<th scope=\"row\">" + page_text(cells[0]) + "</th>" : cell(cells[i]);
  }
  if (!drawing.empty()) text += "<td class=\"drawn\">" + drawing + "</td>";
  return text + "</tr>\n";
}

std::string table(const std::vector<std::string>& heads, const std::string& rows) {
  std::string text = "<div class=\"scroll\" tabindex=\"0\">\n<table>\n";
  if (!heads.empty()) {
    text += "<thead>\n<tr>";
    for (const std::string& head : heads) text += "<th scope=\"col\">" + page_text(head) + "</th>";
    text += "</tr>\n</thead>\n";
  }
  return text + "<tbody>\n" + rows + "</tbody>\n</table>\n</div>\n";
}

std::string fact_table(const std::string& facts) { return table({}, facts); }

std::string list_item(std::string_view text) { return "<li>" + page_text(text) + "</li>\n"; }

std::string list(const std::string& items) { return "<ul>\n" + items + "</ul>\n"; }

std::string section(std::string_view title, const std::string& body) {
  return "<section>\n<h2>" + page_text(title) + "</h2>\n" + body + "</section>\n";
}

std::string subsection(std::string_view title, const std::string& body) {
  return "<h3>" + page_text(title) + "</h3>\n" + body;
}

std::string paragraph(std::string_view text, std::string_view style) {
  return opened("p", style) + page_text(text) + "</p>\n";
}

std::string details(std::string_view title, const std::string& body) {
  return "<details>\n<summary>" + page_text(title) + "</summary>\n" + body + "</details>\n";
}

std::string command_line(std::string_view command) {
  return "<pre tabindex=\"0\"><code>" + page_text(command) + "</code></pre>\n";
}

}  // namespace coterie
