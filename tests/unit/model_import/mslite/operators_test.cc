// Operators that compute each number by itself, or with those of its row.
#include "tests/unit/model_import/mslite/agreement.h"

namespace coterie {
namespace {

using namespace test;
using namespace model_import;

std::vector<Case> number_cases() {
  std::vector<Case> cases;
  const auto activation = [&](const char* name, int8_t kind, std::function<double(double)> compute, float alpha = 0,
                              float least = 0, float most = 0, bool is_approximate = false) {
    cases.push_back({name,
                     {1, 3, 5},
                     [=](auto& b, uint32_t x) {
                       const uint32_t y = b.value("y", {1, 3, 5});
                       b.op(MsliteOp::activation, {x}, {y},
                            [=](auto& f) { return ms::CreateActivation(f, kind, alpha, least, most, is_approximate); });
                       return y;
                     },
                     [=](const Numbers& x) { return each(x, compute); }});
  };
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  activation("relu", 1, [](double v) { return std::max(0.0, v); });
  activation("sigmoid", 2, sigmoid);
  activation("relu6", 3, [](double v) { return std::clamp(v, 0.0, 6.0); });
  activation(
      "elu", 4, [](double v) { return v > 0 ? v : 0.5 * std::expm1(v); }, 0.5f);
  activation(
      "leaky_relu", 5, [](double v) { return v > 0 ? v : 0.25 * v; }, 0.25f);
  activation("softplus", 9, [](double v) { return std::log1p(std::exp(v)); });
  activation("tanh", 10, [](double v) { return std::tanh(v); });
  activation("hswish", 12, [](double v) { return v * std::clamp(v + 3, 0.0, 6.0) / 6; });
  activation("hsigmoid", 13, [](double v) { return std::clamp(v + 3, 0.0, 6.0) / 6; });
  activation(
      "hard_tanh", 16, [](double v) { return std::clamp(v, -0.5, 0.75); }, 0, -0.5f, 0.75f);
  activation("swish", 18, [=](double v) { return v * sigmoid(v); });
  activation("gelu", 19, [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); });
  activation(
      "gelu by tanh", 19,
      [](double v) { return 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))); }, 0, 0, 0,
      true);

  const auto plain = [&](const char* name, std::vector<MsliteOp> ops, std::function<double(double)> compute) {
    cases.push_back({name,
                     {1, 3, 5},
                     [=](auto& b, uint32_t x) {
                       for (const MsliteOp op : ops) {
                         const uint32_t y = b.value("y", {1, 3, 5});
                         b.op(op, {x}, {y});
                         x = y;
                       }
                       return x;
                     },
                     [=](const Numbers& x) { return each(x, compute); }});
  };
  plain("abs", {MsliteOp::abs}, [](double v) { return std::fabs(v); });
  plain("neg", {MsliteOp::neg}, [](double v) { return -v; });
  plain("erf", {MsliteOp::erf}, [](double v) { return std::erf(v); });
  plain("square", {MsliteOp::square}, [](double v) { return v * v; });
  plain("log of the magnitude", {MsliteOp::abs, MsliteOp::log}, [](double v) { return std::log(std::fabs(v)); });
  plain("sqrt of the magnitude", {MsliteOp::abs, MsliteOp::sqrt}, [](double v) { return std::sqrt(std::fabs(v)); });
  plain("rsqrt of the magnitude", {MsliteOp::abs, MsliteOp::rsqrt},
        [](double v) { return 1 / std::sqrt(std::fabs(v)); });
  plain("reciprocal", {MsliteOp::reciprocal}, [](double v) { return 1 / v; });
  plain("dropout does nothing", {MsliteOp::dropout}, [](double v) { return v; });

  const auto with = [&](const char* name, MsliteOp op, auto attributes, std::function<double(double)> compute) {
    cases.push_back({name,
                     {1, 3, 5},
                     [=](auto& b, uint32_t x) {
                       const uint32_t y = b.value("y", {1, 3, 5});
                       b.op(op, {x}, {y}, attributes);
                       return y;
                     },
                     [=](const Numbers& x) { return each(x, compute); }});
  };
  with(
      "clip", MsliteOp::clip, [](auto& f) { return ms::CreateClip(f, 1, -0.5f); },
      [](double v) { return std::clamp(v, -0.5, 1.0); });
  with(
      "elu of its own", MsliteOp::elu, [](auto& f) { return ms::CreateSlope(f, 0.5f); },
      [](double v) { return v > 0 ? v : 0.5 * std::expm1(v); });
  with(
      "leaky_relu of its own", MsliteOp::leaky_relu, [](auto& f) { return ms::CreateSlope(f, 0.125f); },
      [](double v) { return v > 0 ? v : 0.125 * v; });
  with(
      "exp, scaled and shifted", MsliteOp::exponential, [](auto& f) { return ms::CreateExponential(f, -1, 0.5f, 2); },
      [](double v) { return std::exp(0.5 * v + 2); });

  const auto binary = [&](const char* name, MsliteOp op, bool is_fused, std::function<double(double, double)> compute) {
    cases.push_back({name,
                     {1, 2, 3, 4},
                     [=](auto& b, uint32_t x) {
                       const uint32_t w = b.weights("w", {4}), y = b.value("y", {1, 2, 3, 4});
                       if (is_fused) b.op(op, {x, w}, {y}, [](auto& f) { return ms::CreateFused(f, 1); });
                       else b.op(op, {x, w}, {y});
                       return y;
                     },
                     [=](const Numbers& x) {
                       const Numbers y = each(x, 4, [=](double v, int c) { return compute(v, weight(c)); });
                       return is_fused ? relu(y) : y;
                     }});
  };
  binary("add, relu", MsliteOp::add, true, [](double a, double b) { return a + b; });
  binary("sub, relu", MsliteOp::sub, true, [](double a, double b) { return a - b; });
  binary("mul, relu", MsliteOp::mul, true, [](double a, double b) { return a * b; });
  binary("div, relu", MsliteOp::div, true, [](double a, double b) { return a / b; });
  binary("real_div", MsliteOp::real_div, false, [](double a, double b) { return a / b; });
  binary("bias_add", MsliteOp::bias_add, false, [](double a, double b) { return a + b; });
  binary("maximum", MsliteOp::maximum, false, [](double a, double b) { return std::max(a, b); });
  binary("minimum", MsliteOp::minimum, false, [](double a, double b) { return std::min(a, b); });
  binary("squared_difference", MsliteOp::squared_difference, false,
         [](double a, double b) { return (a - b) * (a - b); });
  cases.push_back({"power, scaled and shifted",
                   {1, 5},
                   [](auto& b, uint32_t x) {
                     const uint32_t three = b.reals("three", {1}, {3}), y = b.value("y", {1, 5});
                     b.op(MsliteOp::power, {x, three}, {y}, [](auto& f) { return ms::CreatePower(f, 0.5f, 2); });
                     return y;
                   },
                   [](const Numbers& x) { return each(x, [](double v) { return std::pow(0.5 * v + 2, 3); }); }});
  cases.push_back({"a sum of three",
                   {1, 5},
                   [](auto& b, uint32_t x) {
                     const uint32_t r = b.value("r", {1, 5}), y = b.value("y", {1, 5});
                     b.op(MsliteOp::abs, {x}, {r});
                     b.op(MsliteOp::add_n, {x, r, x}, {y});
                     return y;
                   },
                   [](const Numbers& x) { return each(x, [](double v) { return 2 * v + std::fabs(v); }); }});
  return cases;
}

std::vector<Case> row_cases() {
  std::vector<Case> cases;
  const auto softmax = [](const Numbers& x, size_t last, bool is_log) {
    Numbers y;
    for (size_t i = 0; i < x.size(); ++i) {
      double sum = 0;
      for (size_t j = i / last * last; j < i / last * last + last; ++j) sum += std::exp(x[j]);
      y.push_back(is_log ? x[i] - std::log(sum) : std::exp(x[i]) / sum);
    }
    return y;
  };
  cases.push_back({"softmax",
                   {1, 3, 5},
                   [](auto& b, uint32_t x) {
                     const uint32_t y = b.value("y", {1, 3, 5});
                     b.op(MsliteOp::softmax, {x}, {y}, [](auto& f) {
                       const Longs axis{-1};
                       return ms::CreateAxesDirect(f, &axis);
                     });
                     return y;
                   },
                   [=](const Numbers& x) { return softmax(x, 5, false); }});
  cases.push_back({"log_softmax",
                   {1, 5},
                   [](auto& b, uint32_t x) {
                     const uint32_t y = b.value("y", {1, 5});
                     b.op(MsliteOp::log_softmax, {x}, {y}, [](auto& f) { return ms::CreateOneAxis(f, 1); });
                     return y;
                   },
                   [=](const Numbers& x) { return softmax(x, 5, true); }});
  // The last dimension of [1, 3, 4] is reduced.
  const auto reduced = [&](const char* name, int8_t mode,
                           std::function<double(double, double, double, double)> compute) {
    cases.push_back(
        {name,
         {1, 3, 4},
         [=](auto& b, uint32_t x) {
           const uint32_t axes = b.integers("axes", {-1}), y = b.value("y", {1, 3, 1});
           b.op(MsliteOp::reduce, {x, axes}, {y}, [=](auto& f) { return ms::CreateReduction(f, true, mode); });
           return y;
         },
         [=](const Numbers& x) {
           Numbers y;
           for (size_t i = 0; i < 12; i += 4) y.push_back(compute(x[i], x[i + 1], x[i + 2], x[i + 3]));
           return y;
         }});
  };
  reduced("mean", 0, [](double a, double b, double c, double d) { return (a + b + c + d) / 4; });
  reduced("max", 1, [](double a, double b, double c, double d) { return std::max({a, b, c, d}); });
  reduced("min", 2, [](double a, double b, double c, double d) { return std::min({a, b, c, d}); });
  reduced("sum", 4, [](double a, double b, double c, double d) { return a + b + c + d; });
  reduced("sum of squares", 5, [](double a, double b, double c, double d) { return a * a + b * b + c * c + d * d; });
  reduced("sum of magnitudes", 6, [](double a, double b, double c, double d) {
    return std::fabs(a) + std::fabs(b) + std::fabs(c) + std::fabs(d);
  });
  reduced("l2", 8, [](double a, double b, double c, double d) { return std::sqrt(a * a + b * b + c * c + d * d); });
  cases.push_back({"mean of an image, dimensions gone",
                   {1, 3, 4, 2},
                   [](auto& b, uint32_t x) {
                     const uint32_t axes = b.integers("axes", {2, 1}), y = b.value("y", {1, 2});
                     b.op(MsliteOp::reduce, {x, axes}, {y}, [](auto& f) { return ms::CreateReduction(f, false, 0); });
                     return y;
                   },
                   [](const Numbers& x) {
                     return pooled(x, {3, 4, 2}, {1, 1, 2}, {3, 4}, false);
                   }});
  cases.push_back(
      {"sum from an axis to the end, times a factor",
       {1, 2, 3, 2},
       [](auto& b, uint32_t x) {
         const uint32_t axes = b.integers("axes", {2}), y = b.value("y", {1, 2});
         b.op(MsliteOp::reduce, {x, axes}, {y}, [](auto& f) { return ms::CreateReduction(f, false, 4, true, 0.5f); });
         return y;
       },
       [](const Numbers& x) {
         Numbers y(2);
         for (size_t i = 0; i < 12; ++i) y[i / 6] += x[i] / 2;
         return y;
       }});
  return cases;
}

TEST(MsliteOperators, Numbers) {
  for (const Case& each : number_cases()) expect_all_agree(each);
}
TEST(MsliteOperators, Rows) {
  for (const Case& each : row_cases()) expect_all_agree(each);
}

}  // namespace
}  // namespace coterie
