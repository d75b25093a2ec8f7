#include "tools/delegate/report_text.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr int kNameColumns = 24;  // with it a line has at most 80

struct Place {
  size_t part = 0;  // from 1 on; 0: our kernels
  std::string reason;
};

std::map<uint32_t, Place> places_of(const DelegateReport& report) {
  std::map<uint32_t, Place> places;
  for (const OwnOp& op : report.own) places[op.op] = {0, op.reason};
  for (size_t i = 0; i < report.parts.size(); ++i) {
    const DelegateReport::Part& part = report.parts[i];
    for (const uint32_t op : part.plan.ops) {
      places[op] = part.refusal.empty() ? Place{i + 1, ""} : Place{0, "its part was refused"};
    }
  }
  return places;
}

size_t count_taken(const std::map<uint32_t, Place>& places) {
  return static_cast<size_t>(std::ranges::count_if(places, [](const auto& each) { return each.second.part > 0; }));
}

std::string microseconds(double nanoseconds) { return format_fixed(nanoseconds / 1e3, 1); }

std::string check_text(const DelegateReport::Part& part) {
  if (!part.refusal.empty()) return "refused: " + printable(part.refusal);
  if (!part.verified) return "not run yet";
  std::string text = "differs by " + format_digits(part.verified->difference) + ", bound " +
                     format_digits(part.verified->bound) + ", largest value " + format_digits(part.verified->largest);
  if (part.gradients) {
    text += "\n  gradients by " + format_digits(part.gradients->difference) + " in norm, bound " +
            format_digits(part.gradients->bound) + ", norm " + format_digits(part.gradients->largest);
  }
  if (!part.unsettled.empty()) text += "\n  the next batches decide: " + printable(part.unsettled);
  if (part.checks > 0) {
    text += "\n  checked in " + format_count(part.checks) + " of " + counted(part.copies.runs, "run");
  }
  return text;
}

std::string parts_text(const DelegateReport& report) {
  using enum Table::Align;
  Table table({{"PART", right},
               {"OPS", right},
               {"BYTES IN", right},
               {"BYTES OUT", right},
               {"BORDER us", right},
               {"SAVES us", right},
               {"COPIES", right}});
  std::string checks;
  for (size_t i = 0; i < report.parts.size(); ++i) {
    const DelegateReport::Part& part = report.parts[i];
    table.add({std::to_string(i + 1), std::to_string(part.plan.ops.size()), format_count(part.plan.input_bytes),
               format_count(part.plan.output_bytes), microseconds(part.plan.border_nanoseconds),
               microseconds(part.plan.saved_nanoseconds), format_count(part.copies.copies)});
    checks += "part " + std::to_string(i + 1) + ": " + check_text(part) + "\n";
  }
  return table.text() + checks;
}

}  // namespace

std::string delegate_summary(const Model& model, const DelegateReport& report) {
  const auto places = places_of(report);
  const double share = report.flops > 0 ? report.delegated_flops() / report.flops : 0;
  return printable(model.graph().name) + ": " + report.traits.name + " " +
         shortened(report.traits.version, kNameColumns) + " computes " + std::to_string(count_taken(places)) + " of " +
         counted(places.size(), "op") + ", " + format_percent(share) + " of the operations";
}

std::string delegate_text(const Model& model, const DelegateReport& report) {
  std::string text = delegate_summary(model, report) + "\n";
  if (!report.parts.empty()) text += "\n" + parts_text(report);
  // Many ops have one reason: each stands once, below the table.
  std::vector<std::string> reasons;
  Table table({{"OP"}, {"KIND"}, {"WHERE"}, {"WHY"}});
  for (const auto& [op, place] : places_of(report)) {
    const OpInfo& info = model.graph().ops[op];
    std::string why;
    if (!place.reason.empty()) {
      const auto found = std::ranges::find(reasons, place.reason);
      why = "(" + std::to_string(found - reasons.begin() + 1) + ")";
      if (found == reasons.end()) reasons.push_back(place.reason);
    }
    table.add({shortened(info.name, kNameColumns), std::string(to_string(info.kind)),
               place.part > 0 ? "part " + std::to_string(place.part) : "our kernels", why});
  }
  text += "\n" + table.text();
  for (size_t i = 0; i < reasons.size(); ++i) {
    text += (i == 0 ? "\n(" : "(") + std::to_string(i + 1) + ") " + printable(reasons[i]) + "\n";
  }
  return text;
}

nlohmann::json delegate_json(const Model& model, const DelegateReport& report) {
  nlohmann::json parts = nlohmann::json::array(), ops = nlohmann::json::array();
  for (const DelegateReport::Part& part : report.parts) {
    nlohmann::json entry = {{"ops", part.plan.ops.size()},
                            {"flops", part.plan.flops},
                            {"input_bytes", part.plan.input_bytes},
                            {"output_bytes", part.plan.output_bytes},
                            {"border_nanoseconds", part.plan.border_nanoseconds},
                            {"saved_nanoseconds", part.plan.saved_nanoseconds},
                            {"runs", part.copies.runs},
                            {"copies", part.copies.copies},
                            {"copied_bytes", part.copies.bytes}};
    if (!part.refusal.empty()) entry["refusal"] = part.refusal;
    if (part.verified) {
      entry["difference"] = part.verified->difference;
      entry["bound"] = part.verified->bound;
      entry["largest"] = part.verified->largest;
    }
    if (part.gradients) {
      entry["gradients"] = {{"difference", part.gradients->difference},
                            {"bound", part.gradients->bound},
                            {"norm", part.gradients->largest}};
    }
    if (part.checks > 0) entry["checks"] = part.checks;
    if (!part.unsettled.empty()) entry["unsettled"] = part.unsettled;
    parts.push_back(std::move(entry));
  }
  for (const auto& [op, place] : places_of(report)) {
    const OpInfo& info = model.graph().ops[op];
    nlohmann::json entry = {{"name", info.name}, {"kind", to_string(info.kind)}};
    if (place.part > 0) entry["part"] = place.part;
    else entry["reason"] = place.reason;
    ops.push_back(std::move(entry));
  }
  return {{"delegate", report.traits.name},
          {"version", report.traits.version},
          {"flops", report.flops},
          {"delegated_flops", report.delegated_flops()},
          {"parts", parts},
          {"ops", ops}};
}

std::string training_delegate_text(const Model& model, const std::vector<TrainingDelegation::Batch>& batches) {
  std::string text;
  size_t taken_first = 0;
  for (const auto& [batch_size, report] : batches) {
    text += (text.empty() ? "batches of " : "\nbatches of ") + std::to_string(batch_size) + ":\n";
    // What is as it was for the first is not said again; where a smaller batch is not worth its border, reasons are.
    const size_t taken = count_taken(places_of(report));
    if (&report == &batches.front().report) taken_first = taken;
    if (&report == &batches.front().report || taken != taken_first) {
      text += delegate_text(model, report);
      continue;
    }
    text += delegate_summary(model, report) + "\n";
    for (size_t i = 0; i < report.parts.size(); ++i) {
      if (report.parts[i].refusal.empty()) continue;
      text += "part " + std::to_string(i + 1) + ": " + check_text(report.parts[i]) + "\n";
    }
  }
  return text;
}

nlohmann::json training_delegate_json(const Model& model, const std::vector<TrainingDelegation::Batch>& batches) {
  nlohmann::json all = nlohmann::json::array();
  for (const auto& [batch_size, report] : batches) {
    nlohmann::json entry = delegate_json(model, report);
    entry["batch"] = batch_size;
    all.push_back(std::move(entry));
  }
  return all;
}

}  // namespace coterie
