// What devices count instead of training, in plans.
#include "proto/codec/flat.h"
#include "proto/messages/analytics_lanes.h"
#include "proto/messages/evaluation_lanes.h"
#include "proto/messages/hitter_lanes.h"
#include "proto/messages/range_lanes.h"

namespace coterie::flat {
namespace {

flatbuffers::Offset<wire::Evaluation> build(flatbuffers::FlatBufferBuilder& builder, const EvaluationRules& e) {
  std::vector<flatbuffers::Offset<wire::EvaluatedModel>> models;
  for (const EvaluatedModel& model : e.models) {
    const wire::Digest32 named = digest(model.digest);
    models.push_back(wire::CreateEvaluatedModel(builder, &named, model.bytes));
  }
  return wire::CreateEvaluation(builder, builder.CreateVector(models), e.classes, e.score_bins, e.harm_max);
}

Result<EvaluationRules> parse(const wire::Evaluation& e) {
  EvaluationRules rules{.models = {}, .classes = e.classes(), .score_bins = e.score_bins(), .harm_max = e.harm_max()};
  if (e.models() == nullptr) return rules;
  if (e.models()->size() > kEvaluatedModelsMax) return out_of_range("models", "has too many models");
  for (const wire::EvaluatedModel* model : *e.models()) {
    rules.models.push_back({digest(*model->digest()), model->bytes()});
  }
  return rules;
}

flatbuffers::Offset<wire::Importance> build(flatbuffers::FlatBufferBuilder& builder,
                                            flatbuffers::Offset<wire::Evaluation> evaluation,
                                            const ImportanceRules& i) {
  std::vector<wire::PermutedColumn> columns;
  for (const PermutedColumn& column : i.columns) columns.emplace_back(column.feature, column.width);
  return wire::CreateImportance(builder, evaluation, builder.CreateVectorOfStructs(columns), i.repeats);
}

Result<EvaluationRules> parse(const wire::Importance& i) {
  if (i.evaluation() == nullptr) return out_of_range("importance", "must have an evaluation");
  COT_ASSIGN(EvaluationRules rules, parse(*i.evaluation()));
  ImportanceRules& own = rules.importance.emplace();
  own.repeats = i.repeats();
  if (i.columns() == nullptr) return rules;
  if (i.columns()->size() > kImportanceColumnsMax) return out_of_range("columns", "has too many columns");
  for (const wire::PermutedColumn* column : *i.columns()) own.columns.push_back({column->feature(), column->width()});
  return rules;
}

flatbuffers::Offset<wire::ActivationRanges> build(flatbuffers::FlatBufferBuilder& builder,
                                                  flatbuffers::Offset<wire::Evaluation> evaluation,
                                                  const RangeRules& r) {
  return wire::CreateActivationRanges(builder, evaluation, builder.CreateVectorOfStrings(r.tensors), r.exponent_low,
                                      r.exponent_high, r.steps, r.positions, r.is_normalised);
}

Result<EvaluationRules> parse(const wire::ActivationRanges& r) {
  if (r.evaluation() == nullptr) return out_of_range("ranges", "must have an evaluation");
  COT_ASSIGN(EvaluationRules rules, parse(*r.evaluation()));
  RangeRules& own = rules.ranges.emplace();
  own.exponent_low = r.exponent_low();
  own.exponent_high = r.exponent_high();
  own.steps = r.steps();
  own.positions = r.positions();
  own.is_normalised = r.is_normalised();
  if (r.tensors() == nullptr) return rules;
  if (r.tensors()->size() > kRangeTensorsMax) return out_of_range("tensors", "has too many names");
  for (const flatbuffers::String* name : *r.tensors()) {
    COT_ASSIGN(std::string tensor, text(name, "tensors", kRangeNameBytesMax));
    own.tensors.push_back(std::move(tensor));
  }
  return rules;
}

flatbuffers::Offset<wire::HeavyHitters> build(flatbuffers::FlatBufferBuilder& builder, const HitterRules& h) {
  std::vector<uint8_t> prefixes;
  for (const std::string& prefix : h.prefixes) prefixes.insert(prefixes.end(), prefix.begin(), prefix.end());
  const auto alphabet = h.alphabet.empty() ? 0 : builder.CreateVector(h.alphabet);
  const auto all = prefixes.empty() ? 0 : builder.CreateVector(prefixes);
  return wire::CreateHeavyHitters(builder, h.length_max, alphabet, h.prefixes_max, h.length, all);
}

Result<HitterRules> parse(const wire::HeavyHitters& h) {
  HitterRules rules{
      .length_max = h.length_max(), .alphabet = {}, .prefixes_max = h.prefixes_max(), .length = h.length()};
  if (h.alphabet() != nullptr) {
    if (h.alphabet()->size() > kHitterAlphabetMax) return out_of_range("alphabet", "has too many bytes");
    rules.alphabet.assign(h.alphabet()->begin(), h.alphabet()->end());
  }
  const size_t bytes = h.prefixes() == nullptr ? 0 : h.prefixes()->size();
  if (rules.length == 0) return bytes == 0 ? Result(rules) : out_of_range("prefixes", "must be empty");
  rules.prefixes.clear();
  if (bytes == 0) return rules;
  if (bytes > kHitterPrefixBytesMax || bytes % rules.length != 0 || bytes / rules.length > kHitterPrefixesMax) {
    return out_of_range("prefixes", "must have `length` bytes each, and there are too many, or a part of one");
  }
  const std::string all(h.prefixes()->begin(), h.prefixes()->end());
  for (size_t at = 0; at < bytes; at += rules.length) rules.prefixes.push_back(all.substr(at, rules.length));
  return rules;
}

}  // namespace

flatbuffers::Offset<wire::Analytics> build(flatbuffers::FlatBufferBuilder& builder, const AnalyticsRules& a) {
  flatbuffers::Offset<wire::Evaluation> evaluation = 0;
  flatbuffers::Offset<wire::Importance> importance = 0;
  if (a.evaluation) evaluation = build(builder, *a.evaluation);
  if (a.evaluation && a.evaluation->importance) {
    importance = build(builder, evaluation, *a.evaluation->importance);
    evaluation = 0;
  }
  flatbuffers::Offset<wire::ActivationRanges> ranges = 0;
  if (a.evaluation && a.evaluation->ranges) {
    ranges = build(builder, evaluation, *a.evaluation->ranges);
    evaluation = 0;
  }
  flatbuffers::Offset<wire::HeavyHitters> hitters = 0;
  if (a.hitters) hitters = build(builder, *a.hitters);
  const auto edges = a.edges.empty() ? 0 : builder.CreateVector(a.edges);
  return wire::CreateAnalytics(builder, static_cast<uint8_t>(a.kind), static_cast<uint8_t>(a.source), a.input_values,
                               a.feature, a.missing_feature.has_value(), a.missing_feature.value_or(0), edges,
                               a.categories, a.buckets, a.values_max, a.lane_max, evaluation, hitters, importance,
                               ranges);
}

Result<AnalyticsRules> parse(const wire::Analytics& a) {
  AnalyticsRules rules{.kind = static_cast<AnalyticsKind>(a.kind()),
                       .source = static_cast<AnalyticsSource>(a.source()),
                       .input_values = a.input_values(),
                       .feature = a.feature(),
                       .categories = a.categories(),
                       .buckets = a.buckets(),
                       .values_max = a.values_max(),
                       .lane_max = a.lane_max()};
  if (a.has_missing()) rules.missing_feature = a.missing_feature();
  if (a.edges() != nullptr) {
    if (a.edges()->size() > kHistogramEdgesMax) return out_of_range("edges", "has too many numbers");
    rules.edges.assign(a.edges()->begin(), a.edges()->end());
  }
  if (a.evaluation() != nullptr) {
    COT_ASSIGN(rules.evaluation, parse(*a.evaluation()));
  }
  if (a.importance() != nullptr) {
    if (rules.evaluation) return out_of_range("importance", "must not be beside an evaluation");
    COT_ASSIGN(rules.evaluation, parse(*a.importance()));
  }
  if (a.ranges() != nullptr) {
    if (rules.evaluation) return out_of_range("ranges", "must not be beside an evaluation");
    COT_ASSIGN(rules.evaluation, parse(*a.ranges()));
  }
  if (a.hitters() != nullptr) {
    COT_ASSIGN(rules.hitters, parse(*a.hitters()));
  }
  return rules;
}

}  // namespace coterie::flat
