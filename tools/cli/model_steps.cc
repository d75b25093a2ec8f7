#include "tools/cli/model_steps.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr size_t kColumns = 80, kIndent = 5;
constexpr size_t kStepColumns = 30, kOpColumns = 29, kBytesColumns = 10;
constexpr size_t kNameColumns = 44;  // of an operand, so that one fits into a line

std::string cut(std::string_view text, size_t columns) {
  const std::string shown = printable(text);
  return shown.size() <= columns ? shown : shown.substr(0, columns - 2) + "..";
}

std::string left(std::string text, size_t columns) {
  text.resize(std::max(text.size(), columns), ' ');
  return text;
}

std::string right(const std::string& text, size_t columns) {
  return text.size() < columns ? std::string(columns - text.size(), ' ') + text : text;
}

std::string line_of(const std::string& number, const std::string& step, const std::string& op,
                    const std::string& bytes) {
  return right(number, kIndent - 2) + "  " + left(step, kStepColumns) + "  " + left(op, kOpColumns) + "  " +
         right(bytes, kBytesColumns) + "\n";
}

// The items with a separator behind all but the last, as many in a line as fit.
std::string wrapped(const std::string& first, const std::vector<std::string>& items, const std::string& separator) {
  const size_t indent = kIndent + first.size();
  std::string text = std::string(kIndent, ' ') + first;
  size_t column = indent;
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string item = items[i] + (i + 1 < items.size() ? separator : "");
    if (column > indent && column + 1 + item.size() > kColumns) {
      text += "\n" + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) {
      text += " ";
      ++column;
    }
    text += item;
    column += item.size();
  }
  return text + "\n";
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::string text_of(const ListedStep& step, size_t number) {
  std::string text = line_of(std::to_string(number), cut(step.info.name, kStepColumns), cut(step.op, kOpColumns),
                             format_bytes(step.info.bytes()));
  if (!step.info.settings.empty()) text += wrapped("", words_of(step.info.settings), "");
  std::vector<std::string> read, made;
  for (const ListedOperand& operand : step.operands) {
    (operand.info.is_made ? made : read)
        .push_back(operand.type + " " + operand.shape + " " + cut(operand.what, kNameColumns));
  }
  if (!read.empty()) text += wrapped("", read, ",");
  if (!made.empty()) text += wrapped("-> ", made, ",");
  return text;
}

nlohmann::json json_of(const ListedOperand& operand) {
  constexpr const char* kPlaces[] = {"planned", "fixed", "constant"};
  return {{"what", operand.what},          {"type", operand.type},
          {"shape", operand.shape},        {"elements", operand.info.content.elements},
          {"bytes", operand.info.bytes},   {"place", kPlaces[static_cast<size_t>(operand.info.place)]},
          {"offset", operand.info.offset}, {"is_made", operand.info.is_made}};
}

nlohmann::json json_of(const StepListing& listing) {
  nlohmann::json steps = nlohmann::json::array();
  for (const ListedStep& step : listing.steps) {
    nlohmann::json operands = nlohmann::json::array();
    for (const ListedOperand& operand : step.operands) operands.push_back(json_of(operand));
    steps.push_back({{"phase", to_string(step.info.phase)},
                     {"step", step.info.name},
                     {"op", step.op},
                     {"settings", step.info.settings},
                     {"bytes", step.info.bytes()},
                     {"operands", operands}});
  }
  return {{"name", listing.model},
          {"batch", listing.batch_size},
          {"planned_bytes", listing.planned_bytes},
          {"steps", steps}};
}

}  // namespace

std::string steps_text(const StepListing& listing) {
  std::string text = cut(listing.model, kOpColumns) + ", batch " + std::to_string(listing.batch_size) + ": " +
                     counted(listing.steps.size(), "step") + ", " + format_bytes(listing.planned_bytes) + " planned\n";
  for (size_t i = 0; i < listing.steps.size(); ++i) {
    const Phase phase = listing.steps[i].info.phase;
    if (i == 0 || phase != listing.steps[i - 1].info.phase) {
      text += "\n" + line_of("#", std::string(to_string(phase)), "OP", "BYTES");
    }
    text += text_of(listing.steps[i], i);
  }
  return text;
}

ExitCode show_steps(const StepsOptions& options) {
  const Result<Model> model = open_model(options.file);
  if (!model) return fail_on_input("model inspect", model.error());
  const Result<StepListing> listing = list_steps(*model, options.batch_size);
  if (!listing) return fail_on_input("model inspect", listing.error().with_context(options.file));
  if (options.as_json) print_json(json_of(*listing));
  else print_text(steps_text(*listing));
  return ExitCode::ok;
}

}  // namespace coterie
