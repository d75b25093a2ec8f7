// How a summary tells what each width of a job is worth by itself (DemoResult::narrow).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace coterie {

struct DemoResult;

// "widths": a list of {width, accuracy or mae and r2, loss}; nothing of a job without widths.
void add_width_scores(nlohmann::ordered_json& json, const DemoResult& result);

// A line each, "  cut to 0.5 of its channels: accuracy 91.0 %"; empty likewise.
std::string width_lines(const DemoResult& result);

}  // namespace coterie
