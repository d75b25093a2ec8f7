#include "tools/cli/man_page.h"

#include <algorithm>

namespace coterie {
namespace {

// What roff would read as its own: backslashes, and a control character at the beginning of a line. A hyphen is a
// minus, which can be copied into a shell.
std::string plain(const std::string& text) {
  std::string out;
  bool at_line_start = true;
  for (const char c : text) {
    if (at_line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else out += c;
    at_line_start = c == '\n';
  }
  return out;
}

std::string dashed(std::string path) {
  std::ranges::replace(path, ' ', '-');
  return path;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

// The first sentence of a description, without what follows a line's end: pages have it in their names.
std::string in_one_line(std::string text) {
  text.erase(std::min(text.find('\n'), text.size()));
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string entry(const std::string& head, const std::string& text) {
  return ".TP\n" + head + "\n" + (text.empty() ? "\\&" : plain(text)) + "\n";
}

std::string choices_of(const OptionText& option) {
  std::string words;
  for (const std::string& choice : option.choices) words += (words.empty() ? "" : ", ") + choice;
  return words.empty() ? "" : "\nOne of: " + words + ".";
}

std::string options(const std::vector<OptionText>& list) {
  std::string text;
  for (const OptionText& option : list) {
    std::string head;
    for (const std::string& name : option.names) head += (head.empty() ? "\\fB" : ", \\fB") + plain(name) + "\\fR";
    if (option.takes_value()) head += " \\fI" + plain(option.value) + "\\fR";
    text += entry(head, option.what + choices_of(option));
  }
  return text;
}

std::string synopsis(const CommandText& command) {
  std::string text = "\\fB" + plain(command.path) + "\\fR";
  if (!command.options.empty()) text += " [\\fIOPTIONS\\fR]";
  for (const OptionText& argument : command.arguments) {
    const std::string name = "\\fI" + plain(argument.value) + "\\fR" + (argument.takes_many ? "..." : "");
    text += argument.is_required ? " " + name : " [" + name + "]";
  }
  return text + (command.commands.empty() ? "\n" : " \\fICOMMAND\\fR\n");
}

std::string arguments(const CommandText& command) {
  std::string text;
  for (const OptionText& argument : command.arguments) {
    text += entry("\\fI" + plain(argument.value) + "\\fR", argument.what + choices_of(argument));
  }
  return text;
}

std::string aliases(const CommandText& command) {
  std::string text;
  for (const std::string& alias : command.aliases) text += ".PP\nAlso: \\fB" + plain(alias) + "\\fR.\n";
  return text;
}

// Everything of a command but what is below it.
std::string body(const CommandText& command) {
  std::string text = plain(command.what) + "\n" + aliases(command) + arguments(command) + options(command.options);
  if (!command.examples.empty()) text += ".PP\n.nf\n" + plain(command.examples) + "\n.fi\n";
  return text;
}

std::string sections_below(const CommandText& command) {
  std::string text;
  for (const CommandText& below : command.commands) {
    text += ".SS " + plain(below.path) + "\n" + synopsis(below) + ".PP\n" + body(below) + sections_below(below);
  }
  return text;
}

std::string list_of_commands(const CommandText& command) {
  std::string text;
  for (const CommandText& below : command.commands) text += entry("\\fB" + plain(below.name()) + "\\fR", below.what);
  return text;
}

}  // namespace

std::string man_page_file(const CommandText& command) { return dashed(command.path) + ".1"; }

std::string man_page(const CommandText& root, const CommandText& command, const std::string& version) {
  const bool is_root = &command == &root;
  const std::string title = dashed(command.path);
  std::string text = ".\\\" Made by `coterie man`.\n.TH " + upper(plain(title)) + " 1 \"\" \"coterie " +
                     plain(version) + "\" Coterie\n";
  text += ".SH NAME\n" + plain(title) + " \\- " + plain(in_one_line(command.what)) + "\n";
  text += ".SH SYNOPSIS\n" + synopsis(command);
  text += ".SH DESCRIPTION\n" + body(command);
  if (!command.commands.empty())
    text += ".SH COMMANDS\n" + (is_root ? list_of_commands(command) : sections_below(command));
  if (!is_root) text += ".SH OPTIONS OF EVERY COMMAND\n" + options(root.options);
  text += ".SH SEE ALSO\n";
  std::string others;
  for (const CommandText& page : root.commands) {
    if (&page != &command) others += (others.empty() ? "" : ",\n") + ("\\fB" + plain(dashed(page.path)) + "\\fR(1)");
  }
  if (!is_root) others = "\\fBcoterie\\fR(1),\n" + others;
  return text + others + "\n";
}

}  // namespace coterie
