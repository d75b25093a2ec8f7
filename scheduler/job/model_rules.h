// What can be said of a job only when the model's graph is known.
#pragma once

#include "base/result.h"
#include "proto/messages/model.h"
#include "scheduler/job/horizontal_settings.h"

namespace coterie {

// A model whose batch norms have running statistics that training moves cannot be trained with noise: neither the clip
// nor the noise is made for them, and their release is in no account. Nor with update.compression, which clips and
// rounds all values alike. A job with widths is refused for what of the model has no meaning in part (model_widths.h).
Problems validate_with_graph(const HorizontalSettings& settings, const ModelGraph& graph);

// The values that a new job has; `value_count`: float32s in the model's payload. Updates of a job with analytics have
// one block of the table (proto/codec/analytics_table.h). Errors: those of trained_value_count
// (proto/messages/trained_values.h).
Result<ModelValues> values_of(const HorizontalSettings& settings, const ModelGraph& graph, uint64_t value_count);
// Those of a job that trains so.
Result<ModelValues> values_of(const TrainingSettings& training, const ModelGraph& graph, uint64_t value_count);

// All that can be said of a job only with its model: its noise and first release, its graph, what keeping updates
// costs. The first of these that is wrong. Precondition: validate(settings) is empty.
Problems validate_for_model(const HorizontalSettings& settings, const ModelGraph& graph, const ModelValues& values);

// What becomes of running statistics where the operator has not said: pooled if updates have some, which move.
Statistics default_statistics(const ModelGraph& graph, const TrainingSettings& training);

}  // namespace coterie
