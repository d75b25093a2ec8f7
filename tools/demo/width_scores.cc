#include "tools/demo/width_scores.h"

#include <nlohmann/json.hpp>

#include "proto/messages/width_share.h"
#include "tools/cli/table.h"
#include "tools/demo/result.h"

namespace coterie {

void add_width_scores(nlohmann::ordered_json& json, const DemoResult& result) {
  for (size_t i = 0; i < result.narrow.size(); ++i) {
    const ModelScore& score = result.narrow[i];
    nlohmann::ordered_json own = {{"width", share_of(result.options.widths[i + 1])}};
    if (score.mae) own["mae"] = *score.mae;
    else own["accuracy"] = score.accuracy;
    if (score.r2) own["r2"] = *score.r2;
    own["loss"] = score.loss_mean;
    json["widths"].push_back(std::move(own));
  }
}

std::string width_lines(const DemoResult& result) {
  std::string text;
  for (size_t i = 0; i < result.narrow.size(); ++i) {
    const ModelScore& score = result.narrow[i];
    text += "  cut to " + format_digits(share_of(result.options.widths[i + 1])) + " of its channels: " +
            (score.mae ? "mean absolute error " + format_digits(*score.mae)
                       : "accuracy " + format_percent(score.accuracy)) +
            "\n";
  }
  return text;
}

}  // namespace coterie
