// DriftCorrection: what a device adds to each step of its training so that it does not end where its own examples alone
// would lead it. Whoever has one mostly keeps a vector between the rounds of a job (state_kind.h).
#pragma once

#include <cstdint>
#include <string_view>

namespace coterie {

// A kind names a device's stored state, too (state_kind.h): no number is given twice.
enum class CorrectionKind : uint8_t {
  none = 0,
  // FedDyn (Acar et al. 2021, algorithm 1), with h the device's vector: 0 before its first round.
  //   each step's gradient g becomes  g - h + alpha (w - given)
  //   an update that counts moves h:  h <- h - alpha (trained - given)
  feddyn = 1,
  // SCAFFOLD (Karimireddy et al. 2020, algorithm 1, option II), with c_i the device's vector, 0 before its first round,
  // and c the server's, the plan's control (plan.h). After K steps of rate eta:
  //   each step's gradient g becomes  g - c_i + c
  //   the update's control part is    d = -c - (trained - given) / (K eta)
  //   an update that counts moves c_i:  c_i <- c_i + d, as d left the device
  scaffold = 2,
  // The same, option I: with grad the gradient at the given model of all of the device's examples.
  //   the update's control part is    d = grad - c_i
  scaffold_gradient = 3,
  // Mime Lite (Karimireddy et al. 2021, algorithm 1) with momentum. Devices keep nothing. With s the plan's control,
  // which is momentum times the server's mean of gradients and does not change while devices train:
  //   each step's gradient g becomes  g + s
  //   the update's control part is    grad, as above
  mime_lite = 4
};
inline std::string_view to_string(CorrectionKind kind) {
  switch (kind) {
    case CorrectionKind::none: return "none";
    case CorrectionKind::feddyn: return "feddyn";
    case CorrectionKind::scaffold: return "scaffold";
    case CorrectionKind::scaffold_gradient: return "scaffold option 1";
    case CorrectionKind::mime_lite: return "mime_lite";
  }
  return "unknown";
}

// Whether its devices are handed a vector of the server's, and send as many values more in each update.
inline bool has_control(CorrectionKind kind) {
  return kind == CorrectionKind::scaffold || kind == CorrectionKind::scaffold_gradient ||
         kind == CorrectionKind::mime_lite;
}
// Whether its devices keep a vector from round to round.
inline bool keeps_state(CorrectionKind kind) {
  return kind != CorrectionKind::none && kind != CorrectionKind::mime_lite;
}
// Whether its devices need the gradient of all their examples at the given model.
inline bool needs_gradient(CorrectionKind kind) {
  return kind == CorrectionKind::scaffold_gradient || kind == CorrectionKind::mime_lite;
}

struct DriftCorrection {
  CorrectionKind kind = CorrectionKind::none;
  float alpha = 0;  // feddyn's, above 0; 0 of all others
  friend bool operator==(const DriftCorrection&, const DriftCorrection&) = default;
};

}  // namespace coterie
