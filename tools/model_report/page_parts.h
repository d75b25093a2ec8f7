// What the page of a report is made of: tables and paragraphs, as well-formed XML. All texts are escaped here; those of
// others (file names, columns, classes) may say anything. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace coterie {

// `text` as it stands in the page: escaped, and without what turns text around (svg.h).
std::string page_text(std::string_view text);

// A row of a table without heads: a name and what it is.
std::string fact(std::string_view name, std::string_view value);
// A row of a table with heads; `style` is a class of the page's style sheet.
// `drawing`: a cell more, made by others.
std::string row(const std::vector<std::string>& cells, std::string_view style = {}, const std::string& drawing = {});
// `rows` are made by the two above. Scrolls by itself where it is wider than the screen.
std::string table(const std::vector<std::string>& heads, const std::string& rows);

// A table of facts alone.
std::string fact_table(const std::string& facts);
std::string list_item(std::string_view text);
std::string list(const std::string& items);

// `body` is made by others of these.
std::string section(std::string_view title, const std::string& body);
std::string subsection(std::string_view title, const std::string& body);
std::string paragraph(std::string_view text, std::string_view style = {});
// Closed until the reader opens it.
std::string details(std::string_view title, const std::string& body);
// What a reader may type: in a typeface of its own, on a line of its own.
std::string command_line(std::string_view command);

}  // namespace coterie
