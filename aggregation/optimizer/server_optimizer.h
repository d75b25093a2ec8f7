// Server optimizers: how the mean of a round's updates moves the global model. Pure arithmetic on tiles of any size; a
// model may be moved tile by tile, in any order.
//
//   FedAvg:  w <- w + eta * mean                                          McMahan et al. 2017
//   FedAdam: m <- beta1 m + (1 - beta1) mean
//            v <- beta2 v + (1 - beta2) mean^2
//            w <- w + eta * m / (sqrt(v) + tau)                           Reddi et al. 2021, algorithm 2 (no bias
//                                                                         correction, as there)
#pragma once

#include <span>

namespace coterie {

struct FedAdamSettings {
  float beta1 = 0.9f;
  float beta2 = 0.99f;
  float tau = 1e-3f;
};

// All spans have one length.
void apply_fedavg(std::span<const float> mean, float learning_rate, std::span<float> weights);

// `first` and `second` are the moments: zero before the first round, carried from round to round.
void apply_fedadam(std::span<const float> mean, float learning_rate, const FedAdamSettings& settings,
                   std::span<float> weights, std::span<float> first, std::span<float> second);

}  // namespace coterie
