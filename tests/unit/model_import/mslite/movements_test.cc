// Operators that move numbers and compute none.
#include "tests/unit/model_import/mslite/agreement.h"

namespace coterie {
namespace {

using namespace test;
using namespace model_import;

// Each number of the answer is that of a place of the input, or a value beside them (-1: it).
Numbers moved(const Numbers& x, const std::vector<int>& places, double beside = 0) {
  Numbers y;
  for (const int place : places) y.push_back(place < 0 ? beside : x[static_cast<size_t>(place)]);
  return y;
}

Case movement(const char* name, const std::vector<int32_t>& input, const std::vector<int32_t>& output,
              std::function<void(MsliteBuild&, uint32_t, uint32_t)> make, const std::vector<int>& places,
              double beside = 0) {
  return {name, input,
          [=](auto& b, uint32_t x) {
            const uint32_t y = b.value("y", output);
            make(b, x, y);
            return y;
          },
          [=](const Numbers& x) { return moved(x, places, beside); }};
}

std::vector<Case> movement_cases() {
  const auto axes = [](const Longs& list) { return [=](auto& f) { return ms::CreateAxesDirect(f, &list); }; };
  const auto one_axis = [](int64_t axis) { return [=](auto& f) { return ms::CreateOneAxis(f, axis); }; };
  const auto padding = [](int8_t mode, float value) {
    return [=](auto& f) { return ms::CreatePadding(f, 0, mode, value); };
  };
  const std::vector<int> six{0, 1, 2, 3, 4, 5};
  const auto pads = [](MsliteBuild& b, const std::vector<int32_t>& sizes) {
    return b.constant("pads", {static_cast<int32_t>(sizes.size() / 2), 2}, 34, sizes);
  };
  return {
      movement(
          "reshape", {1, 2, 3}, {1, 3, 2},
          [](auto& b, uint32_t x, uint32_t y) {
            b.op(MsliteOp::reshape, {x, b.integers("to", {0, -1, 2})}, {y});
          },
          six),
      movement(
          "flatten", {1, 2, 3}, {1, 6},
          [](auto& b, uint32_t x, uint32_t y) {
            b.op(MsliteOp::flatten, {x}, {y}, [](auto& f) { return ms::CreateFlatten(f); });
          },
          six),
      movement(
          "squeeze", {1, 1, 2, 3}, {1, 2, 3},
          [=](auto& b, uint32_t x, uint32_t y) { b.op(MsliteOp::squeeze, {x}, {y}, axes({1})); }, six),
      movement(
          "unsqueeze", {1, 2, 3}, {1, 2, 1, 3},
          [=](auto& b, uint32_t x, uint32_t y) { b.op(MsliteOp::unsqueeze, {x}, {y}, axes({2})); }, six),
      movement(
          "expand_dims", {1, 2, 3}, {1, 2, 3, 1},
          [](auto& b, uint32_t x, uint32_t y) {
            b.op(MsliteOp::expand_dims, {x, b.integers("at", {-1})}, {y});
          },
          six),
      movement("transpose", {1, 2, 3}, {1, 3, 2},
               [](auto& b, uint32_t x, uint32_t y) {
                 b.op(MsliteOp::transpose, {x, b.integers("perm", {0, 2, 1})}, {y});
               },
               {0, 3, 1, 4, 2, 5}),
      movement("concat", {1, 2, 2}, {1, 2, 4},
               [=](auto& b, uint32_t x, uint32_t y) {
                 b.op(MsliteOp::concat, {x, x}, {y}, one_axis(-1));
               },
               {0, 1, 0, 1, 2, 3, 2, 3}),
      movement("stack", {1, 2, 2}, {1, 2, 2, 2},
               [=](auto& b, uint32_t x, uint32_t y) {
                 b.op(MsliteOp::stack, {x, x}, {y}, one_axis(1));
               },
               {0, 1, 2, 3, 0, 1, 2, 3}),
      movement(
          "pad with a value", {1, 2, 2}, {1, 3, 3},
          [=](auto& b, uint32_t x, uint32_t y) {
            b.op(MsliteOp::pad, {x, pads(b, {0, 0, 1, 0, 0, 1})}, {y}, padding(0, 7));
          },
          {-1, -1, -1, 0, 1, -1, 2, 3, -1}, 7),
      movement("pad REFLECT", {1, 1, 3}, {1, 1, 6},
               [=](auto& b, uint32_t x, uint32_t y) {
                 b.op(MsliteOp::pad, {x, pads(b, {0, 0, 0, 0, 2, 1})}, {y}, padding(1, 0));
               },
               {2, 1, 0, 1, 2, 1}),
      movement("pad SYMMETRIC by one", {1, 1, 3}, {1, 1, 5},
               [=](auto& b, uint32_t x, uint32_t y) {
                 b.op(MsliteOp::pad, {x, pads(b, {0, 0, 0, 0, 1, 1})}, {y}, padding(2, 0));
               },
               {0, 0, 1, 2, 2}),
      movement("split into halves, the parts the other way round", {1, 2, 2}, {1, 2, 2},
               [=](auto& b, uint32_t x, uint32_t y) {
                 const uint32_t p = b.value("p", {1, 2, 1}), q = b.value("q", {1, 2, 1});
                 b.op(MsliteOp::split, {x}, {p, q}, [](auto& f) { return ms::CreateSplit(f, 2, 0, 2); });
                 b.op(MsliteOp::concat, {q, p}, {y}, one_axis(2));
               },
               {1, 0, 3, 2}),
      movement("split by sizes, the last one the rest", {1, 6}, {1, 6},
               [=](auto& b, uint32_t x, uint32_t y) {
                 const uint32_t p = b.value("p", {1, 1}), q = b.value("q", {1, 2}), r = b.value("r", {1, 3});
                 b.op(MsliteOp::split, {x}, {p, q, r}, [](auto& f) {
                   const Longs sizes{1, 2, -1};
                   return ms::CreateSplitDirect(f, 3, &sizes, -1);
                 });
                 b.op(MsliteOp::concat, {r, q, p}, {y}, one_axis(1));
               },
               {3, 4, 5, 1, 2, 0}),
      movement("gather", {1, 2, 3}, {1, 2, 2},
               [](auto& b, uint32_t x, uint32_t y) {
                 b.op(MsliteOp::gather, {x, b.integers("places", {2, 0}), b.integers("axis", {2})}, {y});
               },
               {2, 0, 5, 3}),
      movement("slice", {1, 2, 3}, {1, 1, 2},
               [=](auto& b, uint32_t x, uint32_t y) {
                 b.op(MsliteOp::slice, {x, b.integers("from", {0, 1, 1}), b.integers("size", {-1, 1, 2})}, {y},
                      axes({0, 1, 2}));
               },
               {4, 5}),
      movement("strided_slice, masked", {1, 2, 5}, {1, 1, 3},
               [](auto& b, uint32_t x, uint32_t y) {
                 b.op(MsliteOp::strided_slice,
                      {x, b.integers("from", {0, 1, 3}), b.integers("to", {1, 2, 0}), b.integers("step", {1, 1, 2})},
                      {y}, [](auto& f) { return ms::CreateStridedSlice(f, 4, 4); });
               },
               {5, 7, 9}),
      movement("strided_slice takes one place away", {1, 2, 3}, {1, 2},
               [](auto& b, uint32_t x, uint32_t y) {
                 b.op(MsliteOp::strided_slice,
                      {x, b.integers("from", {0, 0, -2}), b.integers("to", {0, 0, 0}), b.integers("step", {1, 1, 1})},
                      {y}, [](auto& f) { return ms::CreateStridedSlice(f, 3, 3, 0, 0, 4); });
               },
               {1, 4}),
      movement("strided_slice along given axes", {1, 2, 4}, {1, 2, 2},
               [](auto& b, uint32_t x, uint32_t y) {
                 b.op(MsliteOp::strided_slice,
                      {x, b.integers("from", {-3}), b.integers("to", {INT32_MAX}), b.integers("axes", {-1}),
                       b.integers("step", {2})},
                      {y}, [](auto& f) { return ms::CreateStridedSlice(f); });
               },
               {1, 3, 5, 7}),
  };
}

TEST(MsliteMovements, EachNumberComesFromItsPlace) {
  for (const Case& each : movement_cases()) expect_all_agree(each);
}

}  // namespace
}  // namespace coterie
