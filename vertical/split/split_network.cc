#include "vertical/split/split_network.h"

#include <cmath>
#include <string>
#include <vector>

#include "device_sdk/runtime/model_builder.h"

namespace coterie::vertical {
namespace {

constexpr double kEmbeddingBound = 0.05;  // of first embeddings

Status check_schema(const SplitSettings& settings, const ColumnSchema& columns) {
  const bool is_coded = settings.network != SplitNetwork::mlp;
  if (columns.columns == 0 ||
      (columns.is_coded == is_coded && (!is_coded || columns.categories.size() == columns.columns))) {
    return {};
  }
  return Error(ErrorCode::invalid_argument, std::string("split: the network ") +
                                                std::string(split_network_name(settings.network)) + " reads " +
                                                (is_coded ? "buckets" : "numbers"));
}

// What one party's columns come to, before the parties meet. Each tensor has a row's numbers.
struct Bottom {
  TensorId deep;          // settings.cut numbers
  TensorId straight = 0;  // of wide_deep and deepfm: one number that goes to the logit as it is
  TensorId fields = 0;    // of deepfm: the sum of the embeddings
};

class SplitBuilder {
 public:
  SplitBuilder(const SplitSettings& settings, ModelBuilder& build) : settings_(settings), build_(build) {}

  TensorId sum(TensorId x) {
    return build_.op(OpKind::reduce_sum, {x}, ReduceAttributes{.axes = {1}, .keep_dimensions = true});
  }
  TensorId concat(std::vector<TensorId> parts) {
    return build_.op(OpKind::concat, std::move(parts), AxisAttributes{.axis = 1});
  }
  std::vector<TensorId> split(TensorId x, std::vector<int64_t> sizes) {
    return build_.outputs(OpKind::split, {x}, SplitAttributes{.axis = 1, .sizes = std::move(sizes)});
  }
  TensorId product(TensorId a, TensorId b) { return build_.op(OpKind::mul, {a, b}); }

  Bottom bottom(TensorId x, const ColumnSchema& columns) {
    if (settings_.network == SplitNetwork::mlp)
      return {.deep = build_.op(OpKind::tanh, {build_.dense(hidden(x), settings_.cut)})};
    const int64_t categories = columns.categories_in_all(), width = settings_.embedding;
    const TensorId embedded =
        build_.op(OpKind::embedding, {build_.uniform("embedding", {categories, width}, kEmbeddingBound), x});
    const TensorId flat = build_.flatten(embedded);
    if (settings_.network == SplitNetwork::two_tower) return {.deep = build_.dense(hidden(flat), settings_.cut)};
    // As in Cheng et al. 2016 (Wide & Deep): the cut is the deep part's layer itself.
    Bottom bottom{.deep = build_.relu(build_.dense(hidden(flat), settings_.cut))};
    const TensorId weights =
        build_.parameter("wide", {categories, 1}, std::vector<float>(static_cast<size_t>(categories)));
    bottom.straight = sum(build_.flatten(build_.op(OpKind::embedding, {weights, x})));
    if (settings_.network == SplitNetwork::wide_deep) return bottom;
    // Guo et al. 2017 (DeepFM): all pairs of embeddings are ((sum v)^2 - sum v^2) / 2.
    bottom.fields = build_.flatten(sum(embedded));
    const std::vector<float> half{0.5f};
    const TensorId pairs =
        build_.op(OpKind::sub, {sum(product(bottom.fields, bottom.fields)), sum(product(flat, flat))});
    bottom.straight = build_.add(bottom.straight, product(pairs, build_.constant("half", {1}, std::span(half))));
    return bottom;
  }

  // deep, straight, fields: as they cross the cut, or from there.
  TensorId cross(const Bottom& bottom) {
    if (settings_.network == SplitNetwork::wide_deep) return concat({bottom.deep, bottom.straight});
    if (settings_.network == SplitNetwork::deepfm) return concat({bottom.deep, bottom.straight, bottom.fields});
    return bottom.deep;
  }
  Bottom crossed(TensorId cut) {
    const int64_t deep = settings_.cut;
    if (settings_.network == SplitNetwork::wide_deep) {
      const std::vector<TensorId> parts = split(cut, {deep, 1});
      return {.deep = parts[0], .straight = parts[1]};
    }
    if (settings_.network == SplitNetwork::deepfm) {
      const std::vector<TensorId> parts = split(cut, {deep, 1, settings_.embedding});
      return {.deep = parts[0], .straight = parts[1], .fields = parts[2]};
    }
    return {.deep = cut};
  }

  TensorId lone_logit(const Bottom& bottom) {
    TensorId top = bottom.deep;
    if (settings_.top > 0 && settings_.network != SplitNetwork::two_tower) {
      top = build_.relu(build_.dense(top, settings_.top));
    }
    const TensorId logit = build_.dense(top, 1);
    const bool is_straight = settings_.network == SplitNetwork::wide_deep || settings_.network == SplitNetwork::deepfm;
    return is_straight ? build_.add(logit, bottom.straight) : logit;
  }

  // `own`: null without columns at the label party.
  TensorId logit(const Bottom& peers, const Bottom* own) {
    if (settings_.network == SplitNetwork::two_tower) {
      const TensorId bias = build_.parameter("bias", {1}, {0});
      return build_.add(sum(product(own->deep, peers.deep)), bias);
    }
    TensorId top = own == nullptr ? peers.deep : concat({own->deep, peers.deep});
    if (settings_.top > 0) top = build_.relu(build_.dense(top, settings_.top));
    TensorId logit = build_.dense(top, 1);
    if (settings_.network == SplitNetwork::mlp) return logit;
    logit = build_.add(logit, peers.straight);
    if (own != nullptr) logit = build_.add(logit, own->straight);
    if (settings_.network == SplitNetwork::deepfm && own != nullptr) {
      logit = build_.add(logit, sum(product(own->fields, peers.fields)));  // the pairs across the parties
    }
    return logit;
  }

 private:
  TensorId hidden(TensorId x) {
    return settings_.hidden == 0 || settings_.network == SplitNetwork::wide_deep
               ? x
               : build_.relu(build_.dense(x, settings_.hidden));
  }

  const SplitSettings& settings_;
  ModelBuilder& build_;
};

DataType type_of(const ColumnSchema& columns) { return columns.is_coded ? DataType::int32 : DataType::float32; }

}  // namespace

Result<Bytes> make_feature_network(const SplitSettings& settings, const ColumnSchema& columns, uint64_t seed) {
  COT_TRY(check_split_settings(settings));
  COT_TRY(check_schema(settings, columns));
  if (columns.columns == 0) return Error(ErrorCode::invalid_argument, "split: the feature party has no column");
  ModelBuilder build("split_feature", {columns.columns}, seed, type_of(columns));
  SplitBuilder split(settings, build);
  return build.finish(split.cross(split.bottom(build.input(), columns)));
}

Result<Bytes> make_whole_network(const SplitSettings& settings, const ColumnSchema& columns, uint64_t seed) {
  COT_TRY(check_split_settings(settings));
  COT_TRY(check_schema(settings, columns));
  if (columns.columns == 0) return Error(ErrorCode::invalid_argument, "split: the table has no column");
  ModelBuilder build("split_whole", {columns.columns}, seed, type_of(columns));
  SplitBuilder split(settings, build);
  return build.finish(split.lone_logit(split.bottom(build.input(), columns)));
}

Result<Bytes> make_label_network(const SplitSettings& settings, const ColumnSchema& columns, uint64_t seed) {
  COT_TRY(check_split_settings(settings));
  COT_TRY(check_schema(settings, columns));
  if (columns.columns == 0 && settings.network == SplitNetwork::two_tower) {
    return Error(ErrorCode::invalid_argument,
                 "split: two towers need columns at both parties, and the label party has none; take mlp or wide_deep",
                 "template_needs_columns");
  }
  ModelBuilder build("split_label", {cut_width(settings)}, seed);
  SplitBuilder split(settings, build);
  const Bottom peers = split.crossed(build.input());
  if (columns.columns == 0) return build.finish(split.logit(peers, nullptr));
  const TensorId own_input = build.input("own", {columns.columns}, type_of(columns));
  const Bottom own = split.bottom(own_input, columns);
  return build.finish(split.logit(peers, &own));
}

}  // namespace coterie::vertical
