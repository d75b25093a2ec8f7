#include "tests/unit/tools/pass_proofs.h"

namespace coterie::test {
namespace {

using enum OpKind;

Shape image(Net& net) { return {-1, net.size(net.x, 1), net.size(net.x, 2), net.size(net.x, 3)}; }

TensorId sliced(Net& net, TensorId x, int64_t axis, int64_t start, int64_t count, int64_t step) {
  return net.op(slice, {x}, SliceAttributes{{axis}, {start}, {count}, {step}});
}

TensorId conv(Net& net, TensorId x, uint32_t kernel = 3, uint32_t filters = 4) {
  return net.build.conv2d(x, {.filters = filters, .kernel = kernel, .pad = kernel / 2});
}

TensorId padded(Net& net, TensorId x, std::vector<int64_t> before, std::vector<int64_t> after, float value = 0) {
  return net.op(pad, {x}, PadAttributes{std::move(before), std::move(after), value});
}

}  // namespace

// clang-format off
const std::vector<Proof>& proofs() {
  static const std::vector<Proof> all = {
      {"dead-ops", {0}, true,
       [](Net& n) {
         n.op(exp, {n.op(abs, {n.x})});
         return n.op(relu, {n.x});
       },
       {[](Net& n) { return n.op(exp, {n.op(abs, {n.x})}); }}, 2},
      {"equal-constants", {0, 4}, true,
       [](Net& n) { return n.op(mul, {n.op(add, {n.x, n.known({4}, {1, 2, 3, 4})}), n.known({4}, {1, 2, 3, 4})}); },
       {[](Net& n) { return n.op(add, {n.op(add, {n.x, n.known(0.0f)}), n.known(-0.0f)}); },
        [](Net& n) { return n.op(add, {n.op(add, {n.x, n.known({1}, {2})}), n.known({1, 1}, {2})}); }}},
      {"known-results", {0, 3}, true,
       [](Net& n) { return n.op(add, {n.x, n.op(exp, {n.op(mul, {n.known({3}, {1, -2, .3f}), n.stored({3})})})}); },
       {[](Net& n) { return n.op(exp, {n.x}); },
        [](Net& n) {  // larger than all that it is made of
          const TensorId wide = n.op(expand, {n.known(2)}, ShapeAttributes{{40, 40}});
          return n.op(add, {n.x, n.op(reduce_sum, {wide}, ReduceAttributes{{0, 1}, true})});
        },
        [](Net& n) { return n.op(add, {n.x, n.op(log, {n.known(0)})}); }},  // -inf: no file holds it
       2},
      {"common-ops", {0, 4}, true,
       [](Net& n) { return n.op(add, {n.op(exp, {n.clipped(n.x, -1, 1)}), n.op(exp, {n.clipped(n.x, -1, 1)})}); },
       {[](Net& n) { return n.op(add, {n.clipped(n.x, -1, 1), n.clipped(n.x, -1, 2)}); },
        [](Net& n) { return n.op(add, {n.op(sub, {n.x, n.known(1)}), n.op(sub, {n.known(1), n.x})}); }}, 2},
      {"identity", {0, 0}, true,
       [](Net& n) { return n.op(identity, {n.op(identity, {n.x})}); },
       {[](Net& n) { return n.op(relu, {n.x}); }}, 2},
      {"dropout", {0}, true, [](Net& n) { return n.op(dropout, {n.op(relu, {n.x})}); },
       {[](Net& n) { return n.op(identity, {n.x}); }}},
      {"same-type", {0}, true, [](Net& n) { return n.op(cast, {n.x}, CastAttributes{1}); },
       {[](Net& n) { return n.op(cast, {n.op(cast, {n.x}, CastAttributes{2})}, CastAttributes{1}); }}},
      {"same-shape", {0, 0, 0}, true,
       [](Net& n) {
         const TensorId x = n.op(reshape, {n.x}, ShapeAttributes{image(n)});
         return n.op(flatten, {n.op(flatten, {n.op(expand, {x}, ShapeAttributes{image(n)})})});
       },
       {[](Net& n) { return n.op(flatten, {n.x}); },
        [](Net& n) {  // as many elements
          return n.op(reshape, {n.x}, ShapeAttributes{{-1, n.size(n.x, 1) * n.size(n.x, 2), n.size(n.x, 3)}});
        }}, 3},
      {"no-move", {0, 0, 0}, true,
       [](Net& n) {
         const TensorId whole = sliced(n, n.transposed(n.x, {0, 1, 2, 3}), 2, 0, n.size(n.x, 2), 1);
         const TensorId bare = padded(n, whole, {0, 0, 0, 0}, {0, 0, 0, 0}, 7);
         const TensorId one = n.op(concat, {bare}, AxisAttributes{2});
         return n.op(split, {one}, SplitAttributes{3, {n.size(n.x, 3)}});
       },
       {[](Net& n) { return n.transposed(n.x, {0, 2, 1, 3}); },
        [](Net& n) { return sliced(n, n.x, 2, n.size(n.x, 2) - 1, n.size(n.x, 2), -1); },
        [](Net& n) { return padded(n, n.x, {0, 0, 1, 0}, {0, 0, -1, 0}); },
        [](Net& n) { return n.op(concat, {n.x, n.x}, AxisAttributes{1}); }}, 5},
      {"neutral-operand", {0, 0}, true,
       [](Net& n) {
         const TensorId a = n.op(div, {n.op(mul, {n.known(1), n.x}), n.known(1)});
         const TensorId b = n.op(sub, {n.op(pow, {a, n.known(1)}), n.known(0)});
         return n.op(add, {b, n.known(-0.0f)});
       },
       {[](Net& n) { return n.op(add, {n.x, n.known(0)}); },
        [](Net& n) { return n.op(sub, {n.x, n.known(-0.0f)}); },
        [](Net& n) { return n.op(sub, {n.known(0), n.x}); },
        [](Net& n) { return n.op(div, {n.known(1), n.x}); },
        [](Net& n) { return n.op(pow, {n.known(1), n.x}); },
        [](Net& n) {  // another rank
          const TensorId wide = n.op(mul, {n.x, n.known({1, 1, 1, 1}, {1})});
          return n.op(reshape, {wide}, ShapeAttributes{{-1, n.size(n.x, 1), n.size(n.x, 2)}});
        }},
       5},
      {"zero-operand", {0, 0}, false,
       [](Net& n) { return n.op(sub, {n.op(add, {n.known(0), n.x}), n.known(-0.0f)}); },
       {[](Net& n) { return n.op(sub, {n.known(0), n.x}); },
        [](Net& n) { return n.op(add, {n.x, n.known(1e-30f)}); }}, 2, 0},
      {"reshape-pairs", {0, 0, 0}, true,
       [](Net& n) {
         const TensorId a = n.op(
             flatten, {n.op(reshape, {n.x}, ShapeAttributes{{-1, n.size(n.x, 1), 1, n.size(n.x, 2), n.size(n.x, 3)}})});
         return n.op(reshape, {a}, ShapeAttributes{{-n.size(n.x, 1), n.size(n.x, 3), n.size(n.x, 2)}});
       },
       {[](Net& n) { return n.op(flatten, {n.transposed(n.x, {0, 2, 1, 3})}); },
        [](Net& n) { return n.op(flatten, {n.op(relu, {n.op(flatten, {n.x})})}); }}, 2},
      {"transpose-pairs", {0, 0, 0}, true,
       [](Net& n) { return n.transposed(n.transposed(n.x, {0, 3, 1, 2}), {0, 2, 1, 3}); },
       {[](Net& n) { return n.transposed(n.op(relu, {n.transposed(n.x, {0, 3, 1, 2})}), {0, 2, 3, 1}); }}},
      {"transpose-sinking", {0, 0, 0}, true,
       [](Net& n) {
         const TensorId a = n.op(tanh, {n.op(sub, {n.known(2), n.op(relu, {n.transposed(n.x, {0, 3, 1, 2})})})});
         return n.transposed(a, {0, 2, 3, 1});
       },
       {[](Net& n) { return n.op(relu, {n.transposed(n.x, {0, 3, 1, 2})}); },            // to nowhere
        [](Net& n) {  // also read as it is
          const TensorId t = n.transposed(n.x, {0, 3, 1, 2});
          return n.op(add, {n.transposed(n.op(relu, {t}), {0, 1, 2, 3}), t});
        },
        [](Net& n) {  // a number a channel
          const TensorId t = n.transposed(n.x, {0, 3, 2, 1});
          return n.transposed(n.op(mul, {t, n.stored({n.size(t, 3)})}), {0, 3, 2, 1});
        },
        [](Net& n) {  // rows are more than elements
          const TensorId t = n.transposed(n.x, {0, 3, 1, 2});
          return n.transposed(n.op(softmax, {t}, AxisAttributes{3}), {0, 2, 3, 1});
        }}, 3},
      {"transposed-operands", {0, 0, 0}, true,
       [](Net& n) {
         const TensorId a = n.transposed(n.op(relu, {n.x}), {0, 3, 1, 2});
         return n.op(sub, {a, n.transposed(n.op(abs, {n.x}), {0, 3, 1, 2})});
       },
       {[](Net& n) {  // otherwise
          const TensorId square = n.op(matmul, {n.x, n.x}, MatmulAttributes{.transpose_b = true});  // [b, h, w, w]
          const TensorId a = n.transposed(square, {0, 1, 3, 2});
          return n.op(sub, {a, n.transposed(n.op(abs, {square}), {0, 1, 2, 3})});
        },
        [](Net& n) {
          const TensorId a = n.transposed(n.x, {0, 3, 1, 2}), b = n.transposed(n.op(abs, {n.x}), {0, 3, 1, 2});
          return n.op(add, {n.op(sub, {a, b}), a});
        },
        [](Net& n) {
          const TensorId a = n.transposed(n.x, {0, 3, 1, 2});
          return n.op(sub, {a, n.op(abs, {a})});
        }}},
      {"slice-pairs", {7, 6, 0}, true,
       [](Net& n) {
         const TensorId a = sliced(n, sliced(n, n.x, 1, 6, 3, -2), 1, 1, 2, 1);
         return n.op(slice, {a}, SliceAttributes{{1, 2}, {1, 0}, {1, 3}, {5, 2}});
       },
       {[](Net& n) { return sliced(n, n.op(relu, {sliced(n, n.x, 1, 1, 3, 1)}), 1, 0, 2, 1); }}, 2},
      {"pad-pairs", {0, 0, 0}, true,
       [](Net& n) { return padded(n, padded(n, n.x, {0, 1, 0, 2}, {0, 0, 1, 0}, 3), {0, 0, 2, 1}, {0, 1, 1, 0}, 3); },
       {[](Net& n) { return padded(n, padded(n, n.x, {0, 1, 0, 0}, {0, 0, 0, 0}, 3), {0, 1, 0, 0}, {0, 0, 0, 0}); },
        [](Net& n) { return padded(n, padded(n, n.x, {0, 1, 0, 0}, {0, 0, 0, 0}), {0, -1, 0, 0}, {0, 1, 0, 0}); }}},
      {"split-concat", {6, 6}, true,
       [](Net& n) {
         const auto parts = n.build.outputs(split, {n.op(relu, {n.x})}, SplitAttributes{1, {2, 1, 3}});
         return n.op(concat, {parts[0], parts[1], parts[2]}, AxisAttributes{1});
       },
       {[](Net& n) {
          const auto parts = n.build.outputs(split, {n.x}, SplitAttributes{1, {2, 2, 2}});
          return n.op(concat, {parts[1], parts[0], parts[2]}, AxisAttributes{1});
        },
        [](Net& n) {
          const auto parts = n.build.outputs(split, {n.x}, SplitAttributes{1, {3, 3}});
          return n.op(concat, parts, AxisAttributes{2});
        },
        [](Net& n) {
          const auto parts = n.build.outputs(split, {n.x}, SplitAttributes{1, {2, 2, 2}});
          return n.op(concat, {parts[0], parts[1]}, AxisAttributes{1});
        }}},
      {"concat-pairs", {0, 4}, true,
       [](Net& n) {
         const TensorId a = n.op(concat, {n.x, n.op(relu, {n.x})}, AxisAttributes{2});
         return n.op(concat, {n.x, a, n.op(abs, {n.x})}, AxisAttributes{2});
       },
       {[](Net& n) {
          const TensorId a = n.op(concat, {n.x, n.op(relu, {n.x})}, AxisAttributes{2});
          return n.op(concat, {a, n.op(exp, {a})}, AxisAttributes{1});
        },
        [](Net& n) {
          const TensorId a = n.op(concat, {n.x, n.op(relu, {n.x})}, AxisAttributes{2});
          return n.op(concat, {a, n.op(exp, {a})}, AxisAttributes{2});
        },
        [](Net& n) {  // one operand more than an op may have
          std::vector<TensorId> parts(255, n.x);
          parts.push_back(n.op(concat, {n.x, n.x}, AxisAttributes{2}));
          return n.op(concat, parts, AxisAttributes{2});
        }}},
      {"gather-slice", {6, 0}, true,
       [](Net& n) {
         const TensorId a = n.op(gather, {n.x, n.rows({4, 2, 0})}, AxisAttributes{1});
         return n.op(gather, {a, n.rows({1})}, AxisAttributes{1});
       },
       {[](Net& n) { return n.op(gather, {n.x, n.rows({0, 1, 3})}, AxisAttributes{1}); },
        [](Net& n) { return n.op(gather, {n.x, n.rows({2, 2})}, AxisAttributes{1}); },
        [](Net& n) {  // an index alone takes its axis away
          const int32_t index = 2;
          return n.op(gather, {n.x, n.build.constant("index", {}, std::span(&index, 1))}, AxisAttributes{1});
        }}, 2},
      {"expanded-operand", {0, 0, 0}, true,
       [](Net& n) {
         const TensorId mean = n.op(reduce_max, {n.x}, ReduceAttributes{{1, 2}, true});
         return n.op(div, {n.op(expand, {mean}, ShapeAttributes{image(n)}), n.x});
       },
       {[](Net& n) {  // nobody else has that shape
         const TensorId mean = n.op(reduce_max, {n.x}, ReduceAttributes{{1, 2}, true});
         return n.op(add, {n.op(expand, {mean}, ShapeAttributes{image(n)}), mean});
       }}},
      {"repeated-activation", {0, 0}, true,
       [](Net& n) {
         const TensorId a = n.op(relu, {n.op(relu, {n.op(relu6, {n.op(relu6, {n.op(sub, {n.known(9), n.x})})})})});
         return n.op(relu, {n.op(abs, {n.op(abs, {n.op(sub, {a, n.known(3)})})})});
       },
       {[](Net& n) { return n.op(relu, {n.op(tanh, {n.x})}); }, [](Net& n) { return n.op(relu6, {n.op(relu, {n.x})}); },
        [](Net& n) { return n.op(abs, {n.op(neg, {n.op(abs, {n.x})})}); }}, 5},
      {"clip-pairs", {0, 0}, true,
       [](Net& n) { return n.clipped(n.clipped(n.clipped(n.x, -2, 5), -3, 4), -0.0f, 9); },
       {[](Net& n) { return n.clipped(n.clipped(n.x, 2, 5), -3, 1); },     // apart
        [](Net& n) { return n.clipped(n.clipped(n.x, 0, 5), -0.0f, 4); },  // either zero
        [](Net& n) { return n.clipped(n.clipped(n.x, 5, 2), -3, 4); }},    // upside down
       2},
      {"negations", {0, 0}, true,
       [](Net& n) {
         const TensorId a = n.op(add, {n.op(neg, {n.op(neg, {n.op(neg, {n.x})})}), n.op(abs, {n.x})});
         const TensorId b = n.op(sub, {n.op(add, {a, n.op(neg, {n.op(exp, {n.x})})}), n.op(neg, {n.x})});
         return n.op(mul, {n.op(neg, {b}), n.op(neg, {n.op(relu, {n.x})})});
       },
       {[](Net& n) { return n.op(mul, {n.op(neg, {n.x}), n.op(abs, {n.x})}); },
        [](Net& n) { return n.op(sub, {n.op(neg, {n.x}), n.op(abs, {n.x})}); }}, 5},
      {"power-of-two-divisor", {0, 4}, true,
       [](Net& n) { return n.op(div, {n.x, n.known({4}, {2, -.25f, 1, 0x1p100f})}); },
       {[](Net& n) { return n.op(div, {n.x, n.known({4}, {2, 3, 1, 4})}); },
        [](Net& n) { return n.op(div, {n.known(2), n.x}); },
        [](Net& n) { return n.op(div, {n.x, n.known(0x1p127f)}); },  // whose reciprocal is not normal
        [](Net& n) { return n.op(div, {n.x, n.op(exp, {n.x})}); }}},
      {"known-divisor", {0, 3}, false,
       [](Net& n) { return n.op(div, {n.x, n.known({3}, {3, -.7f, 10})}); },
       {[](Net& n) { return n.op(div, {n.x, n.known({3}, {3, 0, 10})}); },
        [](Net& n) { return n.op(div, {n.known(3), n.x}); },
        [](Net& n) { return n.op(div, {n.x, n.known(3e38f)}); }}},
      {"reciprocal-factor", {0, 3}, false,
       [](Net& n) { return n.op(mul, {n.op(reciprocal, {n.op(exp, {n.x})}), n.op(abs, {n.x})}); },
       {[](Net& n) {
         const TensorId inverse = n.op(reciprocal, {n.op(exp, {n.x})});
         return n.op(add, {n.op(mul, {inverse, n.x}), inverse});
       }}},
      {"square", {0, 3}, false,
       [](Net& n) { return n.op(pow, {n.op(exp, {n.op(pow, {n.op(tanh, {n.x}), n.known(2)})}), n.known({1}, {-1})}); },
       {[](Net& n) { return n.op(pow, {n.op(abs, {n.x}), n.known(3)}); },
        [](Net& n) { return n.op(pow, {n.known(2), n.x}); },
        [](Net& n) { return n.op(pow, {n.op(abs, {n.x}), n.known({3}, {2, 2, 2})}); }}, 2},
      {"known-terms", {0, 2}, false,
       [](Net& n) {
         const TensorId a = n.op(mul, {n.op(mul, {n.x, n.known({2}, {3, .5f})}), n.stored({2})});
         return n.op(add, {n.known(.25f), n.op(add, {a, n.known({2}, {1, 7})})});
       },
       {[](Net& n) {
          const TensorId a = n.op(add, {n.x, n.known(1)});
          return n.op(mul, {n.op(add, {a, n.known(2)}), a});
        },
        [](Net& n) { return n.op(mul, {n.op(add, {n.x, n.known(1)}), n.known(3)}); },
        [](Net& n) { return n.op(mul, {n.op(mul, {n.x, n.known(1e-30f)}), n.known(1e-30f)}); },
        [](Net& n) { return n.op(add, {n.op(add, {n.x, n.known(1)}), n.known({2}, {1, 2})}); }}, 2},
      {"padded-convolution", {0, 0, 3}, false,
       [](Net& n) {
         const TensorId x = padded(n, n.x, {0, 1, 0, 0}, {0, 0, 1, 0});
         return n.build.conv2d(x, {.filters = 5, .kernel = 3, .stride = 2, .pad = 1});
       },
       {[](Net& n) { return conv(n, padded(n, n.x, {0, 1, 0, 0}, {0, 0, 1, 0}, 1)); },
        [](Net& n) { return conv(n, padded(n, n.x, {0, 1, 0, 1}, {0, 0, 1, 0})); },
        [](Net& n) { return conv(n, padded(n, n.x, {0, 2, 0, 0}, {0, 0, 0, 0})); },  // three rows of nothing but zeros
        [](Net& n) { return conv(n, padded(n, n.x, {0, -1, 0, 0}, {0, 0, 0, 0})); }}},
      {"stored-matrix", {0, 5}, false,
       [](Net& n) { return n.op(matmul, {n.x, n.stored({5, 3})}); },
       {[](Net& n) { return n.op(matmul, {n.x, n.stored({3, 5})}, MatmulAttributes{.transpose_b = true}); },
        [](Net& n) { return n.op(matmul, {n.x, n.stored({5, 3})}, MatmulAttributes{.scale = 2}); },
        [](Net& n) { return n.op(matmul, {n.x, n.transposed(n.x, {0, 2, 1})}); },
        [](Net& n) { return n.op(matmul, {n.x, n.stored({1, 5, 3})}); }}},
      {"layer-bias", {0, 0, 3}, false,
       [](Net& n) {
         const TensorId a = n.op(add, {n.build.conv2d(n.x, {.filters = 4, .kernel = 1, .bias = false}), n.stored({4})});
         const TensorId b = n.op(add, {n.known({1, 1, 4}, {1, -2, 3, 4}), conv(n, n.op(relu, {a}))});
         return n.op(add, {n.build.dense(n.op(relu, {b}), 6), n.known(.5f)});
       },
       {[](Net& n) {
          const TensorId a = conv(n, n.x);
          return n.op(mul, {n.op(add, {a, n.known({4}, {1, 2, 3, 4})}), a});
        },
        [](Net& n) { return n.op(add, {conv(n, n.x), n.stored({n.size(n.x, 2), 1})}); },
        [](Net& n) { return n.op(add, {conv(n, n.x), n.op(exp, {conv(n, n.x)})}); },
        [](Net& n) { return n.op(add, {conv(n, n.x, 3, 1), n.known({4}, {1, 2, 3, 4})}); }},  // it grows
       3},
      {"scaled-output", {0, 0, 3}, false,
       [](Net& n) {
         const TensorId a = n.op(mul, {conv(n, n.x), n.known({4}, {1, -2, 3, 4})});
         const TensorId b = n.op(mul, {n.known(.3f), n.build.dense(n.op(relu, {a}), 5, false)});
         return n.op(mul, {n.op(conv_transpose2d, {b, n.stored({2, 2, 3, 5})}, Conv2dAttributes{.stride_h = 2}),
                           n.stored({1})});
       },
       {[](Net& n) {
          const TensorId a = conv(n, n.x);
          return n.op(add, {n.op(mul, {a, n.known(2)}), a});
        },
        [](Net& n) { return n.op(mul, {conv(n, n.x), n.stored({n.size(n.x, 2), 1})}); },
        [](Net& n) {  // the weight is another layer's, too
          const TensorId w = n.stored({3, 3});
          return n.op(mul, {n.op(dense, {n.op(relu, {n.op(dense, {n.x, w})}), w}), n.known(2)});
        },
        [](Net& n) {  // no longer finite
          return n.op(mul, {n.op(conv2d, {n.x, n.stored({1, 1, 3, 4})}, Conv2dAttributes{}), n.known(3e38f)});
        }},
       3},
      {"scaled-input", {0, 0, 3}, false,
       [](Net& n) {
         const TensorId a = conv(n, n.op(mul, {n.x, n.known(1 / 255.0f)}));
         return n.build.dense(n.op(mul, {n.stored({1}), n.op(relu, {a})}), 5);
       },
       {[](Net& n) { return conv(n, n.op(mul, {n.x, n.known({3}, {1, 2, 3})})); },
        [](Net& n) {
          const TensorId a = n.op(mul, {n.x, n.known(2)});
          return n.op(concat, {conv(n, a), a}, AxisAttributes{3});
        },
        [](Net& n) { return conv(n, n.op(add, {n.x, n.known(2)})); }}, 2},
      {"batch-norms", {0, 0, 3}, false,
       [](Net& n) { return n.build.batch_norm(n.build.dense(n.op(relu, {n.build.batch_norm(conv(n, n.x))}), 3)); },
       {[](Net& n) {
          const TensorId a = conv(n, n.x);
          return n.op(add, {n.build.batch_norm(a), a});
        },
        [](Net& n) { return n.build.batch_norm(n.op(relu, {conv(n, n.x)})); }}, 2, 1e-4},
      {"dense-rows", {0, 0, 0}, false,
       [](Net& n) { return n.build.dense(n.op(flatten, {n.transposed(n.x, {0, 3, 1, 2})}), 4); },
       {[](Net& n) {
          const TensorId a = n.op(flatten, {n.transposed(n.x, {0, 3, 1, 2})});
          return n.op(concat, {n.build.dense(a, 4), a}, AxisAttributes{1});
        },
        [](Net& n) { return n.build.dense(n.transposed(n.x, {0, 2, 1, 3}), 4); }}},
      {"swish", {0, 0}, false,
       [](Net& n) { return n.op(mul, {n.op(sigmoid, {n.x}), n.x}); },
       {[](Net& n) { return n.op(mul, {n.op(sigmoid, {n.x}), n.op(abs, {n.x})}); },
        [](Net& n) {
          const TensorId gate = n.op(sigmoid, {n.x});
          return n.op(add, {n.op(mul, {n.x, gate}), gate});
        }}},
      {"mean-pool", {0, 0, 0}, false,
       [](Net& n) { return n.op(reduce_mean, {n.x}, ReduceAttributes{{1, 2}, false}); },
       {[](Net& n) { return n.op(reduce_mean, {n.x}, ReduceAttributes{{1, 2}, true}); },
        [](Net& n) { return n.op(reduce_mean, {n.x}, ReduceAttributes{{2, 3}, false}); },
        [](Net& n) { return n.op(reduce_sum, {n.x}, ReduceAttributes{{1, 2}, false}); }}},
      {"log-softmax", {0, 0}, false,
       [](Net& n) { return n.op(log, {n.op(softmax, {n.x}, AxisAttributes{1})}); },
       {[](Net& n) { return n.op(log, {n.op(sigmoid, {n.x})}); },
        [](Net& n) { return n.op(exp, {n.op(softmax, {n.x}, AxisAttributes{1})}); }}},
      {"dense-pairs", {6}, false,
       [](Net& n) { return n.build.dense(n.build.dense(n.build.dense(n.x, 8), 5, false), 7); },
       {[](Net& n) { return n.build.dense(n.build.dense(n.x, 2), 5); },  // a bottleneck multiplies less
        [](Net& n) { return n.build.dense(n.op(relu, {n.build.dense(n.x, 8)}), 5); },
        [](Net& n) {
          const TensorId a = n.build.dense(n.x, 8);
          return n.op(concat, {n.build.dense(a, 5), a}, AxisAttributes{1});
        }}, 2, 1e-4},
  };
  return all;
}
// clang-format on

}  // namespace coterie::test
