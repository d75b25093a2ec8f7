#include "tools/explain/attribution.h"

#include <algorithm>

#include "tools/explain/grad_cam.h"
#include "tools/explain/gradient_methods.h"
#include "tools/explain/perturbation_methods.h"
#include "tools/explain/shapley.h"

namespace coterie {
namespace {

constexpr AttributionMethod kMethods[] = {
    {"gradient", "slope of the output by each value", attribute_by_gradient},
    {"smooth_gradient", "mean slope at noisy inputs", attribute_by_smooth_gradient},
    {"integrated_gradients", "parts that add up to what the output rose by", attribute_by_integrated_gradients},
    {"grad_cam", "where feature maps speak for the output (images)", attribute_by_grad_cam},
    {"occlusion", "what the output loses where a patch is covered", attribute_by_occlusion},
    {"rise", "what random masks have to do with the output (images)", attribute_by_rise},
    {"shapley", "what each value adds, over orders of all of them", attribute_by_shapley},
};

}  // namespace

std::span<const AttributionMethod> attribution_methods() { return kMethods; }

const AttributionMethod* find_attribution_method(std::string_view name) {
  const auto found = std::ranges::find(kMethods, name, &AttributionMethod::name);
  return found == std::end(kMethods) ? nullptr : &*found;
}

}  // namespace coterie
