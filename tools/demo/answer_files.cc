#include "tools/demo/answer_files.h"

#include <nlohmann/json.hpp>

#include "tools/admin/analytics_report.h"
#include "tools/admin/evaluation_report.h"
#include "tools/admin/importance_report.h"
#include "tools/demo/run_folder.h"
#include "tools/ranges/range_answer.h"

namespace coterie {

Result<LeftAnswer> leave_answer(const nlohmann::json& answer, const RunFolder& folder) {
  COT_TRY(folder.write("result.json", as_bytes(answer.dump(2) + "\n")));
  if (is_range_answer(answer)) {
    COT_ASSIGN(std::string text, ranges_text(answer));
    return LeftAnswer{std::move(text), "result.json"};
  }
  if (!is_evaluation(answer)) {
    COT_ASSIGN(const AnalyticsReport report, parse_analytics(answer));
    COT_TRY(folder.write("chart.svg", as_bytes(draw_analytics(report))));
    return LeftAnswer{analytics_text(report), "result.json, chart.svg"};
  }
  COT_ASSIGN(std::string text, evaluation_text(answer));
  const nlohmann::json models = answer.value("models", nlohmann::json::array());
  if (models.size() != 1 || !has_importance(models[0])) return LeftAnswer{std::move(text), "result.json"};
  COT_TRY(folder.write("importance.csv", as_bytes(importance_csv(models[0]))));
  COT_TRY(folder.write("chart.svg", as_bytes(draw_importance(models[0]))));
  return LeftAnswer{std::move(text), "result.json, importance.csv, chart.svg"};
}

}  // namespace coterie
