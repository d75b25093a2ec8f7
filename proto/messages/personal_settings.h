// PersonalSettings: what of a job's model each device keeps to itself (ADR 139). It is a state slot of the device's
// (participant_state.h): it changes when an update is counted, and nothing of it leaves the device.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coterie {

enum class PersonalKind : uint8_t {
  // FedPer (Arivazhagan et al. 2019), FedRep (Collins et al. 2021), FedBN (Li et al. 2021): some of the model's values
  // are the device's own (personal_part.h). Updates have the others alone.
  part = 1,
  // Ditto (Li et al. 2021): a whole model of the device's own, v, beside the one that is trained together. Before each
  // update the device trains v by the job's settings, where each step's gradient has lambda (v - given) in it.
  model,
  // IFCA (Ghosh et al. 2020): the job's file holds `count` models of one form (model_clusters.h). A device trains the
  // one that loses least on its examples, and keeps which that was. Updates have a slot for each.
  clusters
};
inline std::string_view to_string(PersonalKind kind) {
  switch (kind) {
    case PersonalKind::part: return "part";
    case PersonalKind::model: return "model";
    case PersonalKind::clusters: return "clusters";
  }
  return "unknown";
}

struct PersonalSettings {
  PersonalKind kind = PersonalKind::part;
  // part: parameters whose name matches a pattern (base/text/name_pattern.h), if they are trained.
  std::vector<std::string> parameters = {};
  bool norms = false;  // part: every batch norm's scale, shift and running statistics
  // part: the device first trains its own parameters alone for so many epochs, and then the others alone (FedRep).
  // 0: all together (FedPer).
  uint32_t first_epochs = 0;
  float lambda = 0;    // model: above 0
  uint32_t count = 0;  // clusters: in [kClustersMin, kClustersMax]
  friend bool operator==(const PersonalSettings&, const PersonalSettings&) = default;
};

inline constexpr uint32_t kFirstEpochsMax = 1000;
inline constexpr float kLambdaMax = 1e6f;

}  // namespace coterie
