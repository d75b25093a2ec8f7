#include "tests/micro/int8_case.h"

#include <algorithm>
#include <bit>

#include "device_sdk/runtime/int8/int8_predictor.h"
#include "tests/support/matchers.h"
#include "tools/model/int8_choice.h"

namespace coterie::test {
namespace {

class CaseSource final : public ExampleSource {
 public:
  explicit CaseSource(const RigCase& facts) : facts_(facts) {}
  uint64_t size() const override { return facts_.inputs.size(); }
  Status read(uint64_t index, const Example& to) override {
    std::ranges::copy(facts_.inputs[index], to.features().begin());
    to.labels()[0] = facts_.labels[index];
    return {};
  }

 private:
  const RigCase& facts_;
};

}  // namespace

Int8Program int8_program_of(const Model& model, const RigCase& facts) {
  CaseSource examples(facts);
  const Result<Int8Choice> choice = Int8Choice::create(model, examples, 1);
  EXPECT_OK(choice);
  Result<Int8Program> program = choice->program();
  EXPECT_OK(program);
  return std::move(*program);
}

DriverWords int8_words(const Int8Program& program, const RigCase& facts) {
  Int8Predictor predictor(program);
  std::vector<float> output(predictor.output_elements());
  DriverWords words;
  for (const std::vector<float>& input : facts.inputs) {
    EXPECT_OK(predictor.run(input, 1, output));
    for (const float value : output) words.output.push_back(std::bit_cast<uint32_t>(value));
  }
  return words;
}

}  // namespace coterie::test
