#include "tools/cli/head_report.h"

#include <nlohmann/json.hpp>

#include "tools/cli/table.h"

namespace coterie {
namespace {

std::string value_text(const HeadResult& head) {
  switch (head.measure) {
    case HeadMeasure::accuracy: return format_percent(head.value);
    case HeadMeasure::mean_absolute_error: return format_fixed(head.value, 4);
    default: return "";
  }
}

}  // namespace

std::string heads_text(std::span<const HeadResult> heads) {
  if (heads.empty()) return "";
  Table table({{"HEAD"},
               {"LOSS"},
               {"WEIGHT", Table::Align::right},
               {"MEAN", Table::Align::right},
               {"MEASURE"},
               {"VALUE", Table::Align::right}});
  for (const HeadResult& head : heads) {
    table.add({printable(head.output), std::string(to_string(head.loss)),
               format_fixed(static_cast<double>(head.weight), 2), format_fixed(head.loss_mean, 4),
               head.measure == HeadMeasure::none ? "" : std::string(to_string(head.measure)), value_text(head)});
  }
  return table.text();
}

nlohmann::json heads_json(std::span<const HeadResult> heads) {
  nlohmann::json all = nlohmann::json::array();
  for (const HeadResult& head : heads) {
    nlohmann::json one = {{"output", head.output},
                          {"loss_kind", to_string(head.loss)},
                          {"weight", head.weight},
                          {"rows", head.rows},
                          {"loss", head.loss_mean}};
    if (head.measure != HeadMeasure::none) one[std::string(to_string(head.measure))] = head.value;
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace coterie
