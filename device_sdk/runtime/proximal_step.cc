#include "device_sdk/runtime/proximal_step.h"

#include <algorithm>

namespace coterie {
namespace {

struct Settings {
  float mu;
};

void describe(const Settings& s, SettingsText& text) { text.add("mu", static_cast<double>(s.mu)); }

void run_proximal(const Step& step, const StepContext& context) {
  const auto [gradient, values, start, pulled] = step.slice<4>();
  const size_t count = step.part.size();
  if (pulled != gradient) std::copy_n(gradient, count, pulled);
  context.kernels.add_proximal(count, step.as<Settings>().mu, values, start, pulled);
}

constexpr StepKindOf<Settings> kProximalStep{"update.proximal", run_proximal, describe};

}  // namespace

BufferId emit_proximal(Program& program, Phase phase, float mu, uint64_t count, const ProximalBuffers& b) {
  const BufferId pulled = program.add_planned(count * sizeof(float));
  program.holds(pulled, {.role = BufferRole::gradient, .elements = count});
  program.emit(phase, kProximalStep, Settings{mu}, {b.gradient, b.values, b.start, pulled}, by_elements(count));
  program.may_share(pulled, b.gradient);
  return pulled;
}

}  // namespace coterie
