#include "tools/micro/training_text.h"

#include <algorithm>
#include <string_view>

#include "tools/micro/client_text.h"

namespace coterie {
namespace {

constexpr std::string_view kLayer = R"(typedef struct {
  layer_pass *pass;      /* NULL: a ReLU alone */
  const void *shape;
  const float *w, *bias; /* NULL: none */
  float *dw, *dbias;     /* NULL: not trained */
  size_t out, filters;   /* floats of y, and of the bias */
  int has_relu;
  float *y, *dy;
} layer;

)";

constexpr std::string_view kForward = R"(/* Each output begins at its bias, or at 0. */
static void forward(const float *x) {
  for (size_t k = 0; k < LAYERS; ++k) {
    const layer *l = &layers[k];
    if (l->pass != NULL) {
      for (size_t i = 0; i < l->out; ++i) l->y[i] = l->bias != NULL ? l->bias[i % l->filters] : 0.0f;
      l->pass(l->shape, TO_OUTPUT, x, l->w, l->y, l->y);
      x = l->y;
    }
)";
constexpr std::string_view kForwardRelu = "    if (l->has_relu) relu(l->out, x, l->y);\n    x = l->y;\n";

constexpr std::string_view kBackward = R"(/* From the last layer, whose dy there is, to the first that is trained. */
static void backward(const float *input) {
  for (size_t k = LAYERS; k-- > FIRST;) {
    const layer *l = &layers[k];
    const float *x = k == 0 ? input : layers[k - 1].y;
)";
constexpr std::string_view kBackwardRelu = "    if (l->has_relu) relu_input(l->out, l->y, l->dy);\n";
constexpr std::string_view kBackwardRest =
    R"(    for (size_t i = 0; l->dbias != NULL && i < l->out; ++i) l->dbias[i % l->filters] += l->dy[i];
    if (l->dw != NULL) l->pass(l->shape, TO_WEIGHTS, x, l->w, l->dy, l->dw);
    if (k == FIRST || l->pass == NULL) continue;
    for (size_t i = 0; i < layers[k - 1].out; ++i) layers[k - 1].dy[i] = 0.0f;
    l->pass(l->shape, TO_INPUT, x, l->w, l->dy, layers[k - 1].dy);
  }
}

)";

constexpr std::string_view kFunctions = R"(void PREFIX_predict(const float *input, float *output) {
  forward(input);
  for (size_t i = 0; i < CLASSES; ++i) output[i] = layers[LAYERS - 1].y[i];
}

static void forget_gradients(void) {
  for (size_t i = 0; i < TRAINED; ++i) arena[TRAINED + i] = 0.0f;
  examples = 0.0f;
}

void PREFIX_init(void) {
  for (size_t i = 0; i < TRAINED; ++i) arena[i] = start[i];
  forget_gradients();
}

float *PREFIX_parameters(void) { return arena; }

float PREFIX_accumulate(const float *input, size_t label) {
  float loss;
  if (label >= CLASSES) return -1.0f;
  forward(input);
)";
constexpr std::string_view kCountRight = "  right_answers += is_largest(CLASSES, layers[LAYERS - 1].y, label);\n";
constexpr std::string_view kFunctionsRest =
    R"(  loss = cross_entropy(CLASSES, layers[LAYERS - 1].y, label, layers[LAYERS - 1].dy);
  backward(input);
  examples += 1.0f;
  return loss;
}

void PREFIX_apply(float learning_rate) {
  float step;
  if (examples < 1.0f) return;
  step = learning_rate / examples;
  for (size_t i = 0; i < TRAINED; ++i) arena[i] -= step * arena[TRAINED + i];
  forget_gradients();
}
)";

std::string with_prefix(std::string_view text, const std::string& prefix) {
  constexpr std::string_view kPlace = "PREFIX";
  std::string made(text);
  for (size_t at = made.find(kPlace); at != std::string::npos; at = made.find(kPlace, at + prefix.size())) {
    made.replace(at, kPlace.size(), prefix);
  }
  return made;
}

std::string row_of(const MicroTrainedLayer& layer) {
  return "  /* " + layer.name + " */\n  {" + layer.pass + ", " + layer.shape + ", " + layer.weight + ", " + layer.bias +
         ", " + layer.weight_gradient + ", " + layer.bias_gradient + ", " + std::to_string(layer.out) + ", " +
         std::to_string(layer.filters) + ", " + (layer.has_relu ? "1" : "0") + ", " + layer.value + ", " +
         layer.gradient + "},\n";
}

}  // namespace

bool any_relu(const MicroTraining& training) {
  return std::ranges::any_of(training.layers, &MicroTrainedLayer::has_relu);
}

bool any_relu_gradient(const MicroTraining& training) {
  const auto first = training.layers.begin() + static_cast<std::ptrdiff_t>(training.first_trained);
  return std::any_of(first, training.layers.end(), [](const MicroTrainedLayer& layer) { return layer.has_relu; });
}

std::string training_text(const MicroTraining& training) {
  std::string text(kLayer);
  const auto constant = [](uint64_t value, const char* what) {
    return " = " + std::to_string(value) + ", /* " + what + " */\n";
  };
  text += "enum {\n  LAYERS" + constant(training.layers.size(), "of the model") + "  FIRST" +
          constant(training.first_trained, "that is trained") + "  CLASSES" +
          constant(training.layers.back().out, "outputs") + "  TRAINED" +
          constant(training.trained, "floats, whose gradients lie behind them") +
          "};\n\nstatic const layer layers[LAYERS] = {\n";
  for (const MicroTrainedLayer& layer : training.layers) text += row_of(layer);
  text.append("};\n\n").append(kForward).append(any_relu(training) ? kForwardRelu : "").append("  }\n}\n\n");
  text.append(kBackward).append(any_relu_gradient(training) ? kBackwardRelu : "").append(kBackwardRest);
  if (training.counts_right) text.append(micro_text::kRightAnswers).append("\n");
  text += with_prefix(kFunctions, training.prefix);
  if (training.counts_right) text += kCountRight;
  return text + with_prefix(kFunctionsRest, training.prefix);
}

}  // namespace coterie
