// The optimizers of ONNX's preview of training (ai.onnx.preview.training, onnx/docs/Operators.md): one step of each.
#include <cmath>
#include <map>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

struct Step {
  double rate = 0;
  double number = 0;  // 0: the first
  size_t tensors = 0;
};

// Operands: rate, number of the step, then the values, the gradients and `states` lists of states, of equal length.
Result<Step> step_of(const Call& call, size_t states) {
  COT_TRY(needs_operands(call, call.node.inputs.size()));
  const size_t lists = 2 + states;
  if (call.operands.size() < 2 + lists || (call.operands.size() - 2) % lists != 0)
    return bad_form("lists of different lengths");
  if (call.operand(0).size() != 1 || call.operand(1).size() != 1)
    return bad_form("a rate or a step that is not one number");
  const Step step{call.operand(0).values[0], call.operand(1).values[0], (call.operands.size() - 2) / lists};
  for (size_t i = 2; i < call.operands.size(); ++i) {
    if (call.operand(i).shape != call.operand(2 + (i - 2) % step.tensors).shape)
      return bad_form("values, gradients and states of different shapes");
  }
  return step;
}

double real(const Call& call, const char* key, double absent) {
  return static_cast<double>(call.node.real(key, static_cast<float>(absent)));
}

// Element `i` of the values and states of one tensor, moved in place by its gradient.
using Move = void (*)(const Call&, const Step&, double gradient, double& value, double* states);

Result<Outputs> stepped(const Call& call, size_t states, Move move) {
  COT_ASSIGN(const Step step, step_of(call, states));
  Outputs outputs;  // the values, then each list of states
  for (size_t list = 0; list <= states; ++list) {
    for (size_t k = 0; k < step.tensors; ++k)
      outputs.push_back(call.operand(2 + (list == 0 ? 0 : list + 1) * step.tensors + k));
  }
  const double norm = real(call, "norm_coefficient", 0);
  for (size_t k = 0; k < step.tensors; ++k) {
    const Array& gradients = call.operand(2 + step.tensors + k);
    for (size_t i = 0; i < gradients.values.size(); ++i) {
      double& value = outputs[k].values[i];
      double held[2] = {};
      for (size_t s = 0; s < states; ++s) held[s] = outputs[(1 + s) * step.tensors + k].values[i];
      move(call, step, norm * value + gradients.values[i], value, held);
      for (size_t s = 0; s < states; ++s) outputs[(1 + s) * step.tensors + k].values[i] = held[s];
    }
  }
  return outputs;
}

Result<Outputs> compute_adagrad(const Call& call) {
  return stepped(call, 1, [](const Call& of, const Step& step, double gradient, double& value, double* states) {
    const double rate = step.rate / (1 + step.number * real(of, "decay_factor", 0));
    states[0] += gradient * gradient;
    value -= rate * gradient / (std::sqrt(states[0]) + real(of, "epsilon", 1e-6));
  });
}

Result<Outputs> compute_adam(const Call& call) {
  // ONNX's text has 0 for it, and its test a number that its graph does not say.
  if (!call.node.attributes.contains("epsilon")) return unknown_form("Adam without an epsilon");
  return stepped(call, 2, [](const Call& of, const Step& step, double gradient, double& value, double* states) {
    const double alpha = real(of, "alpha", 0.9), beta = real(of, "beta", 0.999);
    states[0] = alpha * states[0] + (1 - alpha) * gradient;
    states[1] = beta * states[1] + (1 - beta) * gradient * gradient;
    const double rate =
        step.number > 0 ? step.rate * std::sqrt(1 - std::pow(beta, step.number)) / (1 - std::pow(alpha, step.number))
                        : step.rate;
    value -= rate * states[0] / (std::sqrt(states[1]) + real(of, "epsilon", 0));
    value *= 1 - real(of, "norm_coefficient_post", 0);
  });
}

Result<Outputs> compute_momentum(const Call& call) {
  const std::string mode = call.node.text("mode", "");
  if (mode != "standard" && mode != "nesterov") return unknown_form("mode " + mode);
  return stepped(call, 1, [](const Call& of, const Step& step, double gradient, double& value, double* states) {
    const double alpha = real(of, "alpha", 0), beta = step.number > 0 ? real(of, "beta", 0) : 1;
    states[0] = alpha * states[0] + beta * gradient;
    value -= step.rate * (of.node.text("mode", "") == "nesterov" ? gradient + alpha * states[0] : states[0]);
  });
}

}  // namespace

Operator training_operator(const std::string& op) {
  static const std::map<std::string, Operator> table = {
      {"ai.onnx.preview.training.Adagrad", compute_adagrad},
      {"ai.onnx.preview.training.Adam", compute_adam},
      {"ai.onnx.preview.training.Momentum", compute_momentum},
  };
  return entry_of(table, op);
}

}  // namespace coterie::model_import
