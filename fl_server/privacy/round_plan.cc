#include "fl_server/privacy/round_plan.h"

#include "proto/codec/analytics_table.h"
#include "proto/codec/codec.h"
#include "proto/codec/limits.h"
#include "scheduler/job/analytics_rules.h"
#include "scheduler/job/round_question.h"
#include "secure/identity/log_head_signature.h"

namespace coterie {

Result<RoundPlan> put_round_plan(BlobStore& blobs, const Digest& job_plan, const RoundTerms& terms,
                                 const std::optional<SignedLogHead>& log,
                                 const std::optional<AnalyticsRules>& question) {
  COT_ASSIGN(const Bytes stored, blobs.get(job_plan, limits::kPlanBytesMax));
  Result<Plan> plan = decode_plan(stored);
  if (!plan) return Error(ErrorCode::data_loss, "the job's plan cannot be read: " + plan.error().message());
  Plan own = with_terms(*std::move(plan), terms);
  own.log = log;
  if (question) own.analytics = question;
  const Bytes bytes = encode(own);
  COT_ASSIGN(const Digest digest, blobs.put(bytes));
  return RoundPlan{digest, static_cast<uint32_t>(bytes.size())};
}

Result<std::optional<AnalyticsRules>> round_question(BlobStore& blobs, const HorizontalSettings& settings,
                                                     ModelVersion version, const Digest& table) {
  if (!settings.analytics || !settings.analytics->asks_anew()) return std::optional<AnalyticsRules>();
  COT_ASSIGN(const Bytes file, blobs.get(table, kTableBytesMax));
  Result<CountBlocks> blocks = read_blocks(rules_of(*settings.analytics), blocks_of(settings), file);
  if (!blocks) return Error(ErrorCode::data_loss, "the job's table cannot be read: " + blocks.error().message());
  if (version.value() >= blocks->size()) return Error(ErrorCode::data_loss, "the job's table has had its last round");
  const auto before = std::span(*blocks).first(version.value());
  return std::optional(rules_of(question_of_round(settings, before)));
}

Result<std::optional<SignedLogHead>> sign_log(const Population& population, const LogHead& head, const Signer& signer) {
  if (head.size == 0) return std::optional<SignedLogHead>();
  SignedLogHead named{population, head, {}};
  COT_TRY(sign_log_head(named, signer));
  return std::optional(std::move(named));
}

}  // namespace coterie
