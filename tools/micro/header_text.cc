#include "tools/micro/header_text.h"

#include <string_view>

#include "tools/micro/number_text.h"

namespace coterie {
namespace {

constexpr std::string_view kContract =
    R"( * Plain C99: no heap, no libm, no stdio, no recursion. All memory is one static array of a known size, and a
 * small stack. Parameters are `const` and stay in flash. The compiler may call memcpy and memset, and where there is
 * no floating-point unit its own routines for float (libgcc); nothing uses double. One caller at a time.
 *
)";

constexpr std::string_view kFloatBits =
    R"( * The same bits everywhere: each sum is added in the order that its function states, from its bias or from 0,
 * the first product first. That is the order of Coterie's reference kernels (train_kernels/reference). It holds for
 * IEEE 754 float without excess precision (no x87), without -ffast-math, with denormals, and with contraction off:
 *
 *     cc -std=c99 -O2 -ffreestanding -ffp-contract=off -c
 *
 * e^x and log x are series of this file's own, with the bounds stated there. Coterie's other kernels add in other
 * orders: their outputs differ by rounding (measured: at most 1e-5 of the largest output).
 */
)";

constexpr std::string_view kInt8Bits =
    R"( * The same bits everywhere, those of Coterie's int8 network (train_kernels/int8/kernels.h): values between
 * layers are int8, sums of products int32, and what brings a sum to the next layer is one float product, rounded to
 * nearest, ties to even. It holds for IEEE 754 float without excess precision (no x87), rounding to nearest, without
 * -ffast-math, with denormals, and with contraction off:
 *
 *     cc -std=c99 -O2 -ffreestanding -ffp-contract=off -c
 */
)";

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

constexpr std::string_view kTraining = R"(
/* Training by SGD, a mini-batch of any size:
 *
 *     PREFIX_init();
 *     for each mini-batch {
 *       for each example: PREFIX_accumulate(input, label);
 *       PREFIX_apply(0.1f);
 *     }
 *
 * Parameters are 0 until PREFIX_init, which puts the model's own there and forgets gradients. */
void PREFIX_init(void);

/* Adds the gradient of the softmax cross-entropy of one example, and returns its loss. A label that is no class returns
 * -1 and changes nothing. `input` stays unchanged. */
float PREFIX_accumulate(const float *input, size_t label);

/* w -= (learning_rate / examples) * (the gradients' sum), for the examples since the last call; then forgets them.
 * Without any it does nothing. */
void PREFIX_apply(float learning_rate);

/* The parameters that are trained, one tensor behind the other in the model's order. They may be read and written
 * between calls. */
float *PREFIX_parameters(void);
)";

constexpr std::string_view kClient = R"(
/* This model for coterie_tiny.h, which takes part in rounds of a server with it. */
extern const coterie_tiny_model PREFIX_model;
)";

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

}  // namespace

std::string micro_header(const MicroHeader& facts) {
  const std::string big = upper(facts.prefix);
  const auto define = [&](const char* name, uint64_t value, const std::string& comment) {
    return "#define " + big + "_" + name + " " + std::to_string(value) + " /* " + comment + " */\n";
  };
  std::string text =
      "/* " + facts.prefix + ".h: the model " + facts.model + " as C. Written by `coterie model export --c" +
      (facts.has_client ? " --train --client"
       : facts.trains   ? " --train"
       : facts.is_int8  ? " --int8"
                        : "") +
      "`.\n *\n" + std::string(kContract) + std::string(facts.is_int8 ? kInt8Bits : kFloatBits) + "#ifndef " + big +
      "_H\n#define " + big + "_H\n\n#include <stddef.h>\n" +
      (facts.has_client ? "\n#include \"coterie_tiny.h\"\n" : "") + "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  text += define("INPUTS", facts.inputs, "floats of one example: " + sizes_text(facts.input) + ", channels last");
  text += define("OUTPUTS", facts.outputs, "floats");
  text += define("ARENA_BYTES", facts.arena_bytes, "of RAM, all of it but the stack");
  if (facts.trains) text += define("PARAMETERS", facts.trained, "floats that are trained");
  text += "\n/* `output` must not overlap `input`, which stays unchanged. */\nvoid " + facts.prefix +
          "_predict(const float *input, float *output);\n";
  if (facts.trains) text += replace_all(std::string(kTraining), "PREFIX", facts.prefix);
  if (facts.has_client) text += replace_all(std::string(kClient), "PREFIX", facts.prefix);
  return text + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

}  // namespace coterie
