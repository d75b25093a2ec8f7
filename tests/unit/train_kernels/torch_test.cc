// Kernels against what PyTorch computed (tests/golden/torch/kernel_vectors.txt): their definitions are
// PyTorch's.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/unit/device_sdk/runtime/torch_vectors.h"
#include "tests/unit/train_kernels/rnn_tester.h"
#include "train_kernels/kernel_table.h"

namespace coterie::test {
namespace {

using namespace kernels;
using Floats = std::vector<float>;

constexpr double kTolerance = 4e-6;  // of the largest answer

std::vector<TorchCase> cases_of(const std::string& kind) { return torch_cases(kind, "kernel_vectors.txt"); }

// Runs body(table) for the reference in float and every fast table.
template <typename Body>
void for_each_table(const Body& body) {
  std::vector<KernelTable> tables(supported_kernels().begin(), supported_kernels().end());
  tables.push_back(reference_kernels<float>());
  for (const KernelTable& table : tables) {
    SCOPED_TRACE(table.name);
    body(table);
  }
}

Floats mapped(Floats values, const std::function<float(float)>& function) {
  for (float& value : values) value = function(value);
  return values;
}

// torch.fake_quantize_per_tensor_affine with the whole range of int8. PyTorch multiplies by 1 / scale; no value here is
// so near to a tie that it matters.
TEST(TorchKernels, RoundingOntoAGridAgrees) {
  for (const TorchCase& c : cases_of("fake_quantize")) {
    const size_t n = c.list("shape")[0];
    const auto scale = static_cast<float>(c.number("scale")), zero = static_cast<float>(c.number("zero"));
    Draw draw(c.seed());
    const Floats x = mapped(draw.floats(n), [](float value) { return 4 * value; });
    for_each_table([&](const KernelTable& table) {
      Floats y(n);
      table.round_onto_grid(n, scale, zero, x.data(), y.data());
      expect_near(y, c.answer("y"), 1e-6, "y");
    });
  }
}

TEST(TorchKernels, ClassLossesAgree) {
  for (const char* kind : {"cross_entropy", "cross_entropy_of_targets", "negative_log_likelihood"}) {
    for (const TorchCase& c : cases_of(kind)) {
      const auto shape = c.list("shape");
      const size_t rows = shape[0], classes = shape[1];
      Draw draw(c.seed());
      const Floats z = mapped(draw.floats(rows * classes), [](float x) { return 4 * x; });
      draw.floats(rows * classes);  // the targets' logits
      const bool weighted = c.number("weighted") != 0, soft = c.kind == "cross_entropy_of_targets";
      Floats weights;
      if (weighted) weights = mapped(draw.floats(classes), [](float x) { return x + 1.5f; });
      std::vector<int32_t> labels = draw.labels(rows, classes);
      labels[1] = -100;
      Floats targets;
      if (soft) targets.assign(c.answer("targets").begin(), c.answer("targets").end());
      const ClassLoss<float> s{rows, classes, static_cast<float>(c.number("smoothing")),
                               weighted ? weights.data() : nullptr};
      for_each_table([&](const KernelTable& table) {
        const double total =
            soft ? static_cast<double>(rows) : table.label_weight(rows, labels.data(), s.class_weights);
        const float scale = static_cast<float>(1 / total);
        Floats dz(z.size());
        LossSums sums;
        if (soft) table.cross_entropy_of_targets(s, z.data(), targets.data(), scale, dz.data(), &sums);
        else if (c.kind == "cross_entropy") table.cross_entropy(s, z.data(), labels.data(), scale, dz.data(), &sums);
        else table.negative_log_likelihood(s, z.data(), labels.data(), scale, dz.data(), &sums);
        expect_near({static_cast<float>(sums.loss / total)}, c.answer("loss"), kTolerance, kind);
        expect_near(dz, c.answer("d0"), kTolerance, kind);
      });
    }
  }
}

TEST(TorchKernels, ElementLossesAgree) {
  for (const TorchCase& c : cases_of("element_loss")) {
    const auto shape = c.list("shape");
    const size_t rows = shape[0], n = shape[0] * shape[1];
    const ElementLossShape s{static_cast<ElementLoss>(c.number("function")), rows, shape[1], 0.5f};
    Draw draw(c.seed());
    const bool probability = s.kind == ElementLoss::binary_cross_entropy;
    const Floats y = mapped(draw.floats(n), [&](float x) { return probability ? (x + 1) / 2 : 2 * x; });
    Floats t = mapped(draw.floats(n), [](float x) { return (x + 1) / 2; });
    t[0] = 0;
    for_each_table([&](const KernelTable& table) {
      Floats dy(n);
      LossSums sums;
      table.element_loss(s, y.data(), t.data(), 1 / static_cast<float>(rows), dy.data(), &sums);
      expect_near({static_cast<float>(sums.loss / static_cast<double>(rows))}, c.answer("loss"), kTolerance, "loss");
      expect_near(dy, c.answer("d0"), kTolerance, "dy");
    });
  }
}

TEST(TorchKernels, EmbeddingLossesAgree) {
  for (const char* kind : {"cosine_embedding", "triplet_margin"}) {
    for (const TorchCase& c : cases_of(kind)) {
      const auto shape = c.list("shape");
      const size_t rows = shape[0], n = shape[0] * shape[1];
      Draw draw(c.seed());
      const Floats x = draw.floats(n), y = draw.floats(n), z = draw.floats(n);
      std::vector<int32_t> labels(rows);
      for (size_t i = 0; i < rows; ++i) labels[i] = i % 2 == 0 ? 1 : -1;
      const float scale = 1 / static_cast<float>(rows);
      const bool triplet = c.kind == "triplet_margin";
      for_each_table([&](const KernelTable& table) {
        Floats dx(n), dy(n), dz(n);
        LossSums sums;
        if (triplet) {
          table.triplet_margin(rows, shape[1], x.data(), y.data(), z.data(), 0.5f, scale, dx.data(), dy.data(),
                               dz.data(), &sums);
          expect_near(dz, c.answer("d2"), kTolerance, "negative");
        } else {
          table.cosine_embedding(rows, shape[1], x.data(), y.data(), labels.data(), -0.25f, scale, dx.data(), dy.data(),
                                 &sums);
        }
        expect_near({static_cast<float>(sums.loss) * scale}, c.answer("loss"), kTolerance, kind);
        expect_near(dx, c.answer("d0"), kTolerance, kind);
        expect_near(dy, c.answer("d1"), kTolerance, kind);
      });
    }
  }
}

// One step, t from 1, with the settings of make_kernel_vectors.py.
void take_step(const KernelTable& k, const std::string& rule, size_t t, const Floats& g, Floats& w, Floats (&m)[3]) {
  const size_t n = w.size();
  if (rule == "nesterov") {
    k.sgd_step(n, {0.05f, 0.9f, 0.01f, true}, g.data(), w.data(), m[0].data());
  } else if (rule == "adamw") {
    const float step_size = 0.02f / (1 - std::pow(0.8f, static_cast<float>(t)));
    const float v_scale = 1 / std::sqrt(1 - std::pow(0.99f, static_cast<float>(t)));
    k.adamw_step(n, {0.8f, 0.99f, 1e-6f, 0.02f * 0.5f, step_size, v_scale}, g.data(), w.data(), m[0].data(),
                 m[1].data());
  } else if (rule == "adagrad") {
    const float learning_rate = 0.1f / (1 + static_cast<float>(t - 1) * 0.25f);
    k.adagrad_step(n, {learning_rate, 1e-6f, 0.01f}, g.data(), w.data(), m[0].data());
  } else if (rule == "rmsprop") {
    k.rmsprop_step(n, {0.02f, 0.75f, 1e-6f, 0.01f, 0}, g.data(), w.data(), m[0].data(), nullptr, nullptr);
  } else if (rule == "rmsprop_momentum") {
    k.rmsprop_step(n, {0.02f, 0.75f, 1e-2f, 0, 0.5f}, g.data(), w.data(), m[0].data(), m[1].data(), m[2].data());
  } else {
    ASSERT_EQ(rule, "adadelta");
    k.adadelta_step(n, {0.5f, 0.75f, 1e-3f, 0.01f}, g.data(), w.data(), m[0].data(), m[1].data());
  }
}

TEST(TorchKernels, OptimizersAgree) {
  for (const TorchCase& c : cases_of("optimizer")) {
    const std::string& rule = c.attributes.at("rule");
    SCOPED_TRACE(rule);
    const auto shape = c.list("shape");
    for_each_table([&](const KernelTable& table) {
      Draw draw(c.seed());
      Floats w = draw.floats(shape[0]), moments[3];
      for (Floats& moment : moments) moment.resize(shape[0]);
      for (size_t step = 0; step < shape[1]; ++step) {
        take_step(table, rule, step + 1, draw.floats(shape[0]), w, moments);
        const auto expected = c.answers.find("w" + std::to_string(step));
        if (expected != c.answers.end()) expect_near(w, expected->second, 2e-5, expected->first);
      }
    });
  }
}

TEST(TorchKernels, RecurrentLayersAgree) {
  for (const TorchCase& c : cases_of("rnn")) {
    const std::string& name = c.attributes.at("cell");
    SCOPED_TRACE(name);
    const auto d = c.list("shape");
    const RnnCell cell = name == "lstm"   ? RnnCell::lstm
                         : name == "gru"  ? RnnCell::gru_linear_before_reset
                         : name == "tanh" ? RnnCell::tanh
                                          : RnnCell::relu;
    const RnnShape s{cell, d[0], d[1], d[2], d[3], d[3]};
    Prng unused(0);
    kernels::test::RnnRun<float> run(s, unused, true, true);
    Draw draw(c.seed());
    for (Floats* values : {&run.x, &run.w, &run.r, &run.bias_w, &run.bias_r, &run.h0, &run.c0, &run.dy}) {
      *values = draw.floats(values->size());
    }
    run.dh_n.clear();
    run.dc_n.clear();
    for_each_table([&](const KernelTable& table) {
      kernels::test::RnnRun<float> got = run;
      got.run(table);
      expect_near(got.y, c.answer("y"), kTolerance, "y");
      expect_near(got.h_n, c.answer("h_n"), kTolerance, "h_n");
      expect_near(got.dx, c.answer("dx"), kTolerance, "dx");
      expect_near(got.dw, c.answer("dw"), kTolerance, "dw");
      expect_near(got.dr, c.answer("dr"), kTolerance, "dr");
      expect_near(got.dbias_w, c.answer("dbias_w"), kTolerance, "dbias_w");
      expect_near(got.dbias_r, c.answer("dbias_r"), kTolerance, "dbias_r");
      expect_near(got.dh0, c.answer("dh0"), kTolerance, "dh0");
      if (cell != RnnCell::lstm) return;
      expect_near(got.c_n, c.answer("c_n"), kTolerance, "c_n");
      expect_near(got.dc0, c.answer("dc0"), kTolerance, "dc0");
    });
  }
}

TEST(TorchKernels, AttentionAgrees) {
  for (const TorchCase& c : cases_of("attention")) {
    const auto d = c.list("shape");
    const size_t row = d[1] * d[4];
    AttentionShape s{d[0], d[1], d[2], d[3], d[4], row, row, row, row, 1 / std::sqrt(static_cast<float>(d[4]))};
    s.causal = c.number("causal") != 0;
    Draw draw(c.seed());
    const auto twice = [](float x) { return 2 * x; };
    const Floats q = mapped(draw.floats(d[0] * d[2] * row), twice), k = mapped(draw.floats(d[0] * d[3] * row), twice);
    const Floats v = mapped(draw.floats(d[0] * d[3] * row), twice), dy = draw.floats(q.size());
    std::vector<uint8_t> workspace(std::max(attention_forward_workspace(s), attention_backward_workspace(s)));
    for_each_table([&](const KernelTable& table) {
      Floats y(q.size()), log_sums(s.log_sums_floats()), dq(q.size()), dk(k.size()), dv(v.size());
      const Range all{0, d[0] * d[1]};
      table.attention_forward(s, all, {q.data(), k.data(), v.data(), nullptr, nullptr, y.data(), log_sums.data()},
                              workspace.data());
      table.attention_backward(s, all,
                               {q.data(), k.data(), v.data(), nullptr, nullptr, y.data(), dy.data(), log_sums.data(),
                                dq.data(), dk.data(), dv.data()},
                               workspace.data());
      expect_near(y, c.answer("y"), kTolerance, "y");
      expect_near(dq, c.answer("dq"), kTolerance, "dq");
      expect_near(dk, c.answer("dk"), kTolerance, "dk");
      expect_near(dv, c.answer("dv"), kTolerance, "dv");
    });
  }
}

}  // namespace
}  // namespace coterie::test
