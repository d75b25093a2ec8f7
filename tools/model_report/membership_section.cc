#include "tools/cli/table.h"
#include "tools/model_report/figure_text.h"
#include "tools/model_report/page_parts.h"
#include "tools/model_report/report_sections.h"

namespace coterie {
namespace {

std::string allowed(const std::optional<PrivacyPromise>& promise, double (*figure)(const PrivacyPromise&, double),
                    double at) {
  return promise ? "at most " + format_percent(figure(*promise, at)) : "-";
}

std::string figures(const MembershipDrill& drill, const std::optional<PrivacyPromise>& promise) {
  const auto advantage_max = [](const PrivacyPromise& made, double) { return made.advantage_max(); };
  const auto found_max = [](const PrivacyPromise& made, double at) { return made.true_positives_max(at); };
  std::string rows = row({"area under the ROC curve", area_text(drill.area), "0.5", "-"});
  rows += row({"advantage, where the loss is at most the mean of members (Yeom et al. 2018)",
               points_text(drill.advantage(), drill.advantage_interval()), "0", allowed(promise, advantage_max, 0)});
  for (const FoundMembers& each : drill.found) {
    const std::string rate = format_digits(100 * each.false_positives) + " %";
    rows += row({"members found, with " + rate + " of the others taken for members",
                 each.found ? share_text(*each.found) : "too few others", rate,
                 allowed(promise, found_max, each.false_positives)});
  }
  const std::string heads_of_promise = promise ? "epsilon " + format_fixed(promise->epsilon, 3) + " at delta " +
                                                     format_digits(promise->delta) + " allows"
                                               : "epsilon allows";
  return table({"an attacker who sees the model", "seen", "a guess", heads_of_promise}, rows);
}

}  // namespace

std::string membership_part(const ModelAudit& audit) {
  const char* const title = "Are training examples told from others?";
  if (!audit.membership) return subsection(title, paragraph("Not drilled: " + audit.not_drilled + "."));
  const MembershipDrill& drill = *audit.membership;
  const std::optional<PrivacyPromise> promise = promise_of(audit);
  std::string text = paragraph(
      "An attacker takes an example for one that the model was trained on where its loss is small. Tried on " +
      counted(drill.members, "example") + " of " + drill.data_name + ", said to be trained on (mean loss " +
      format_digits(drill.member_loss) + "), and on the " + counted(drill.others, "example") +
      " that the model is judged by (mean loss " + format_digits(drill.other_loss) +
      "). Both have to be drawn alike: what else they differ in is taken for memory.");
  text += figures(drill, promise);
  if (!promise) text += paragraph("No epsilon was accounted for: nothing bounds what an attacker finds.");
  else if (breaks(drill, *promise)) {
    text += paragraph("This is MORE than epsilon allows, beyond chance: noise, accounting or the data are not as said.",
                      "bad");
  }
  text += paragraph(
      "An attacker who trains models of the kind himself finds more (Carlini et al. 2022). What is seen here is the "
      "least that there is to find.",
      "soft");
  return subsection(title, text);
}

}  // namespace coterie
