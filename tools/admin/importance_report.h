// How much a model needs each column, as the answer of a job that evaluates it has it (docs/operating/evaluation.md):
// for people in lines of at most 80 columns, as CSV, and drawn. The most important column first. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace coterie {

// `model`: one of such an answer, here and below.
bool has_importance(const nlohmann::json& model);

// A table with intervals and a bar each; empty without importance. Names are printable in it.
std::string importance_text(const nlohmann::json& model);

// column,loss_rise,loss_rise_low,loss_rise_high,error_rise,error_rise_low,error_rise_high; what is not known is empty.
std::string importance_csv(const nlohmann::json& model);

// Bars of the loss's rise with their intervals.
std::string draw_importance(const nlohmann::json& model);

}  // namespace coterie
