// Layers: convolutions and pools with each way of padding, products, norms.
#include "tests/unit/model_import/mslite/agreement.h"

namespace coterie {
namespace {

using namespace test;
using namespace model_import;

// pad_mode: 0 as given, 1 SAME, 2 VALID.
auto conv(const Longs& kernel, const Longs& strides, const Longs& dilations, int8_t pad_mode, const Longs& pads,
          int64_t group, int8_t activation = 0) {
  return [=](auto& f) {
    return ms::CreateConvolutionDirect(f, 1, &kernel, &strides, &dilations, pad_mode, &pads, 1, group, 0, 0,
                                       activation);
  };
}
auto deconv(const Longs& strides, int8_t pad_mode, const Longs& pads, int64_t group, const Longs& more = {0, 0}) {
  return [=](auto& f) {
    const Longs ones{1, 1};
    return ms::CreateTransposedConvolutionDirect(f, 1, nullptr, &strides, &ones, pad_mode, nullptr, &pads, 0, group, 0,
                                                 0, 0, &more);
  };
}
auto pool(const Longs& kernel, const Longs& strides, int8_t pad_mode, const Longs& pads, int8_t round_mode = 0,
          int8_t activation = 0) {
  return [=](auto& f) {
    return ms::CreatePoolDirect(f, &kernel, &strides, &pads, pad_mode, round_mode, 1, false, activation);
  };
}

std::vector<Case> convolution_cases() {
  return {
      {"conv SAME, an odd row more below, relu6",
       {1, 6, 5, 3},
       [](auto& b, uint32_t x) {
         const uint32_t w = b.weights("w", {4, 3, 3, 3}, 7), bias = b.weights("b", {4}), y = b.value("y", {1, 3, 3, 4});
         b.op(MsliteOp::convolution, {x, w, bias}, {y}, conv({3, 3}, {2, 2}, {1, 1}, 1, {9, 9, 9, 9}, 1, 3));
         return y;
       },
       [](const Numbers& x) {
         const Numbers y = convolved(x, {6, 5, 3}, {3, 3, 4}, {3, 3, 2, 1, 0, 1});
         return each(with_bias(y, 4), [](double v) { return std::clamp(v, 0.0, 6.0); });
       }},
      {"conv PAD: one above, none below, two left, one right; relu",
       {1, 5, 4, 2},
       [](auto& b, uint32_t x) {
         const uint32_t w = b.weights("w", {3, 3, 3, 2}), y = b.value("y", {1, 4, 5, 3});
         b.op(MsliteOp::convolution, {x, w}, {y}, conv({3, 3}, {1, 1}, {1, 1}, 0, {1, 0, 2, 1}, 1, 1));
         return y;
       },
       [](const Numbers& x) {
         return relu(convolved(x, {5, 4, 2}, {4, 5, 3}, {3, 3, 1, 1, 1, 2}));
       }},
      {"conv VALID, dilated",
       {1, 7, 7, 2},
       [](auto& b, uint32_t x) {
         const uint32_t w = b.weights("w", {3, 3, 3, 2}), y = b.value("y", {1, 3, 3, 3});
         b.op(MsliteOp::convolution, {x, w}, {y}, conv({3, 3}, {1, 1}, {2, 2}, 2, {0, 0, 0, 0}, 1));
         return y;
       },
       [](const Numbers& x) {
         return convolved(x, {7, 7, 2}, {3, 3, 3}, {3, 3, 1, 2});
       }},
      {"conv in two groups",
       {1, 4, 4, 4},
       [](auto& b, uint32_t x) {
         const uint32_t w = b.weights("w", {6, 1, 1, 2}), y = b.value("y", {1, 4, 4, 6});
         b.op(MsliteOp::convolution, {x, w}, {y}, conv({1, 1}, {1, 1}, {1, 1}, 2, {}, 2));
         return y;
       },
       [](const Numbers& x) {
         return convolved(x, {4, 4, 4}, {4, 4, 6}, {.group = 2});
       }},
      {"depthwise, two outputs a channel",
       {1, 5, 5, 3},
       [](auto& b, uint32_t x) {
         const uint32_t w = b.weights("w", {6, 3, 3, 1}), y = b.value("y", {1, 3, 3, 6});
         b.op(MsliteOp::convolution, {x, w}, {y}, conv({3, 3}, {2, 2}, {1, 1}, 1, {}, 3));
         return y;
       },
       [](const Numbers& x) {
         return convolved(x, {5, 5, 3}, {3, 3, 6}, {3, 3, 2, 1, 1, 1, 3});
       }},
      {"depthwise whose group is not said",
       {1, 5, 5, 3},
       [](auto& b, uint32_t x) {
         const uint32_t w = b.weights("w", {3, 3, 3, 1}), y = b.value("y", {1, 3, 3, 3});
         b.op(MsliteOp::convolution, {x, w}, {y}, conv({3, 3}, {1, 1}, {1, 1}, 2, {}, 0));
         return y;
       },
       [](const Numbers& x) {
         return convolved(x, {5, 5, 3}, {3, 3, 3}, {3, 3, 1, 1, 0, 0, 3});
       }},
      {"transposed conv SAME",
       {1, 3, 4, 2},
       [](auto& b, uint32_t x) {
         const uint32_t w = b.weights("w", {2, 3, 3, 5}), y = b.value("y", {1, 6, 8, 5});
         b.op(MsliteOp::transposed_convolution, {x, w}, {y}, deconv({2, 2}, 1, {}, 1));
         return y;
       },
       [](const Numbers& x) {
         return transposed(x, {3, 4, 2}, {6, 8, 5}, {3, 3, 2});
       }},
      {"transposed conv PAD with a row more, and bias",
       {1, 3, 3, 2},
       [](auto& b, uint32_t x) {
         const uint32_t w = b.weights("w", {2, 3, 3, 4}), bias = b.weights("b", {4}), y = b.value("y", {1, 6, 6, 4});
         b.op(MsliteOp::transposed_convolution, {x, w, bias}, {y}, deconv({2, 2}, 0, {1, 1, 1, 1}, 1, {1, 1}));
         return y;
       },
       [](const Numbers& x) {
         return with_bias(transposed(x, {3, 3, 2}, {6, 6, 4}, {3, 3, 2, 1, 1, 1}), 4);
       }},
      {"transposed conv VALID, depthwise",
       {1, 3, 3, 2},
       [](auto& b, uint32_t x) {
         const uint32_t w = b.weights("w", {2, 3, 3, 1}), y = b.value("y", {1, 7, 7, 2});
         b.op(MsliteOp::transposed_convolution, {x, w}, {y}, deconv({2, 2}, 2, {}, 2));
         return y;
       },
       [](const Numbers& x) {
         return transposed(x, {3, 3, 2}, {7, 7, 2}, {3, 3, 2, 1, 0, 0, 2});
       }},
  };
}

// The format's place of a row or column at half pixels, never below 0, and behind the last one that one again.
double half_pixel(int to, int from_size, int to_size) { return std::max(0.0, (to + 0.5) * from_size / to_size - 0.5); }

Case half_pixels(const char* name, ImageSize in, ImageSize out) {
  const auto make = [=](auto& b, uint32_t x) {
    const uint32_t y = b.value("y", {1, out.h, out.w, out.c});
    b.op(MsliteOp::resize, {x}, {y}, [=](auto& f) { return ms::CreateResize(f, 1, 0, out.h, out.w, false, 2); });
    return y;
  };
  const auto expected = [=](const Numbers& x) {
    Numbers y;
    for (int i = 0; i < out.h * out.w * out.c; ++i) {
      const double h = half_pixel(i / out.c / out.w, in.h, out.h), w = half_pixel(i / out.c % out.w, in.w, out.w);
      const int h0 = static_cast<int>(h), w0 = static_cast<int>(w), c = i % out.c;
      const int h1 = std::min(h0 + 1, in.h - 1), w1 = std::min(w0 + 1, in.w - 1);
      const double below = h - h0, right = w - w0;
      y.push_back((1 - below) * ((1 - right) * at(x, in, h0, w0, c) + right * at(x, in, h0, w1, c)) +
                  below * ((1 - right) * at(x, in, h1, w0, c) + right * at(x, in, h1, w1, c)));
    }
    return y;
  };
  return {name, {1, in.h, in.w, in.c}, make, expected};
}

std::vector<Case> window_cases() {
  return {
      {"average pool SAME counts what is inside, relu",
       {1, 5, 5, 2},
       [](auto& b, uint32_t x) {
         const uint32_t y = b.value("y", {1, 3, 3, 2});
         b.op(MsliteOp::average_pool, {x}, {y}, pool({3, 3}, {2, 2}, 1, {}, 0, 1));
         return y;
       },
       [](const Numbers& x) {
         return relu(pooled(x, {5, 5, 2}, {3, 3, 2}, {3, 3, 2, 1, 1, 1}, false));
       }},
      {"average pool PAD, above and left alone",
       {1, 5, 5, 2},
       [](auto& b, uint32_t x) {
         const uint32_t y = b.value("y", {1, 2, 2, 2});
         b.op(MsliteOp::average_pool, {x}, {y}, pool({3, 3}, {2, 2}, 0, {1, 0, 1, 0}));
         return y;
       },
       [](const Numbers& x) {
         return pooled(x, {5, 5, 2}, {2, 2, 2}, {3, 3, 2, 1, 1, 1}, false);
       }},
      {"max pool VALID",
       {1, 5, 6, 2},
       [](auto& b, uint32_t x) {
         const uint32_t y = b.value("y", {1, 2, 3, 2});
         b.op(MsliteOp::max_pool, {x}, {y}, pool({2, 2}, {2, 2}, 2, {}));
         return y;
       },
       [](const Numbers& x) {
         return pooled(x, {5, 6, 2}, {2, 3, 2}, {2, 2, 2}, true);
       }},
      {"max pool that rounds its size up",
       {1, 6, 6, 1},
       [](auto& b, uint32_t x) {
         const uint32_t y = b.value("y", {1, 3, 3, 1});
         b.op(MsliteOp::max_pool, {x}, {y}, pool({3, 3}, {2, 2}, 0, {0, 0, 0, 0}, 1));
         return y;
       },
       [](const Numbers& x) {
         return pooled(x, {6, 6, 1}, {3, 3, 1}, {3, 3, 2}, true);
       }},
      {"average pool of the whole image",
       {1, 3, 4, 2},
       [](auto& b, uint32_t x) {
         const uint32_t y = b.value("y", {1, 1, 1, 2});
         b.op(MsliteOp::average_pool, {x}, {y}, [](auto& f) { return ms::CreatePool(f, 0, 0, 0, 0, 0, 1, true); });
         return y;
       },
       [](const Numbers& x) {
         return pooled(x, {3, 4, 2}, {1, 1, 2}, {3, 4}, false);
       }},
      {"max pool of the whole image",
       {1, 3, 4, 2},
       [](auto& b, uint32_t x) {
         const uint32_t y = b.value("y", {1, 1, 1, 2});
         b.op(MsliteOp::max_pool, {x}, {y}, [](auto& f) { return ms::CreatePool(f, 0, 0, 0, 0, 0, 1, true); });
         return y;
       },
       [](const Numbers& x) {
         return pooled(x, {3, 4, 2}, {1, 1, 2}, {3, 4}, true);
       }},
      {"resize LINEAR, corners aligned: twice as fine",
       {1, 2, 3, 1},
       [](auto& b, uint32_t x) {
         const uint32_t y = b.value("y", {1, 3, 5, 1});
         b.op(MsliteOp::resize, {x}, {y}, [](auto& f) { return ms::CreateResize(f, 1, 0, 3, 5, false, 1); });
         return y;
       },
       [](const Numbers& x) {
         Numbers y;
         for (int h = 0; h < 3; ++h) {
           for (int w = 0; w < 5; ++w) {
             const int h0 = h / 2, h1 = (h + 1) / 2, w0 = w / 2, w1 = (w + 1) / 2;
             const ImageSize in{2, 3, 1};
             y.push_back((at(x, in, h0, w0, 0) + at(x, in, h0, w1, 0) + at(x, in, h1, w0, 0) + at(x, in, h1, w1, 0)) /
                         4);
           }
         }
         return y;
       }},
      half_pixels("resize LINEAR, half pixels: finer, with both edges", {2, 3, 2}, {5, 8, 2}),
      half_pixels("resize LINEAR, half pixels: coarser", {6, 7, 1}, {4, 3, 1}),
      half_pixels("resize LINEAR, half pixels: of one row, to one column", {1, 4, 1}, {3, 1, 1}),
      {"resize NEAREST, its size an operand",
       {1, 2, 3, 2},
       [](auto& b, uint32_t x) {
         const uint32_t size = b.integers("size", {4, 6}), y = b.value("y", {1, 4, 6, 2});
         b.op(MsliteOp::resize, {x, size}, {y}, [](auto& f) { return ms::CreateResize(f, 1, 1); });
         return y;
       },
       [](const Numbers& x) {
         Numbers y;
         for (int i = 0; i < 4 * 6 * 2; ++i) y.push_back(at(x, {2, 3, 2}, i / 12 / 2, i / 2 % 6 / 2, i % 2));
         return y;
       }},
  };
}

std::vector<Case> product_cases() {
  const auto dense = [](bool uses_axis, int64_t axis, int8_t activation) {
    return [=](auto& f) { return ms::CreateDense(f, true, uses_axis, axis, activation); };
  };
  const auto matmul = [](bool a, bool b) { return [=](auto& f) { return ms::CreateMatMul(f, a, b); }; };
  return {
      {"dense of an image, relu",
       {1, 2, 3, 2},
       [=](auto& b, uint32_t x) {
         const uint32_t w = b.weights("w", {5, 12}), bias = b.weights("b", {5}), y = b.value("y", {1, 5});
         b.op(MsliteOp::dense, {x, w, bias}, {y}, dense(true, 1, 1));
         return y;
       },
       [](const Numbers& x) { return relu(with_bias(multiplied(x, 12, 5), 5)); }},
      {"dense of a row, no bias",
       {1, 6},
       [=](auto& b, uint32_t x) {
         const uint32_t w = b.weights("w", {4, 6}), y = b.value("y", {1, 4});
         b.op(MsliteOp::dense, {x, w}, {y}, dense(false, 0, 0));
         return y;
       },
       [](const Numbers& x) { return multiplied(x, 6, 4); }},
      {"dense of each row, by its axis",
       {1, 4, 6},
       [=](auto& b, uint32_t x) {
         const uint32_t w = b.weights("w", {5, 6}), bias = b.weights("b", {5}), y = b.value("y", {1, 4, 5});
         b.op(MsliteOp::dense, {x, w, bias}, {y}, dense(true, 2, 0));
         return y;
       },
       [](const Numbers& x) { return with_bias(multiplied(x, 6, 5), 5); }},
      {"dense, weights of float16",
       {1, 4},
       [=](auto& b, uint32_t x) {
         // 1, -0.5, 2, 0.25, and backwards
         const std::vector<uint16_t> halves{0x3c00, 0xb800, 0x4000, 0x3400, 0x3400, 0x4000, 0xb800, 0x3c00};
         const uint32_t w = b.constant("w", {2, 4}, 42, halves), y = b.value("y", {1, 2});
         b.op(MsliteOp::dense, {x, w}, {y}, dense(false, 0, 0));
         return y;
       },
       [](const Numbers& x) {
         return Numbers{x[0] - x[1] / 2 + 2 * x[2] + x[3] / 4, x[0] / 4 + 2 * x[1] - x[2] / 2 + x[3]};
       }},
      {"matmul as a layer",
       {1, 4},
       [=](auto& b, uint32_t x) {
         const uint32_t w = b.weights("w", {3, 4}), bias = b.weights("b", {3}), y = b.value("y", {1, 3});
         b.op(MsliteOp::matmul, {x, w, bias}, {y}, matmul(false, true));
         return y;
       },
       [](const Numbers& x) { return with_bias(multiplied(x, 4, 3), 3); }},
      {"matmul of each row, the table as it stands",
       {1, 2, 2},
       [=](auto& b, uint32_t x) {
         const uint32_t w = b.reals("w", {2, 3}, {1, 2, 3, 4, 5, 6}), bias = b.weights("b", {3}),
                        y = b.value("y", {1, 2, 3});
         b.op(MsliteOp::matmul, {x, w, bias}, {y}, matmul(false, false));
         return y;
       },
       [](const Numbers& x) {
         Numbers y;
         for (size_t row = 0; row < 2; ++row) {
           for (size_t o = 0; o < 3; ++o) {
             y.push_back(x[2 * row] * static_cast<double>(o + 1) + x[2 * row + 1] * static_cast<double>(o + 4));
           }
         }
         return with_bias(y, 3);
       }},
      {"matmul of two values, the second turned",
       {1, 2, 3},
       [=](auto& b, uint32_t x) {
         const uint32_t y = b.value("y", {1, 2, 2});
         b.op(MsliteOp::matmul, {x, x}, {y}, matmul(false, true));
         return y;
       },
       [](const Numbers& x) {
         Numbers y;
         for (size_t i = 0; i < 4; ++i) {
           const size_t a = i / 2 * 3, b = i % 2 * 3;
           y.push_back(x[a] * x[b] + x[a + 1] * x[b + 1] + x[a + 2] * x[b + 2]);
         }
         return y;
       }},
      {"matmul of two values, the first turned",
       {1, 1, 3},
       [=](auto& b, uint32_t x) {
         const uint32_t y = b.value("y", {1, 3, 3});
         b.op(MsliteOp::matmul, {x, x}, {y}, matmul(true, false));
         return y;
       },
       [](const Numbers& x) {
         Numbers y;
         for (size_t i = 0; i < 9; ++i) y.push_back(x[i / 3] * x[i % 3]);
         return y;
       }},
  };
}

std::vector<Case> norm_cases() {
  return {
      {"fused batch norm of an image",
       {1, 2, 3, 2},
       [](auto& b, uint32_t x) {
         const uint32_t scale = b.reals("scale", {2}, {2, -1}), bias = b.reals("bias", {2}, {0.5f, 3}),
                        mean = b.reals("mean", {2}, {0.25f, -1}), variance = b.reals("variance", {2}, {4, 0.25f});
         const uint32_t y = b.value("y", {1, 2, 3, 2});
         b.op(MsliteOp::fused_batch_norm, {x, scale, bias, mean, variance}, {y},
              [](auto& f) { return ms::CreateFusedBatchNorm(f, 0.5f); });
         return y;
       },
       [](const Numbers& x) {
         return each(x, 2, [](double v, int c) {
           return c == 0 ? (v - 0.25) / std::sqrt(4.5) * 2 + 0.5 : -(v + 1) / std::sqrt(0.75) + 3;
         });
       }},
      {"batch norm of a row",
       {1, 2},
       [](auto& b, uint32_t x) {
         const uint32_t mean = b.reals("mean", {2}, {0.25f, -1}), variance = b.reals("variance", {2}, {4, 0.25f});
         const uint32_t y = b.value("y", {1, 2});
         b.op(MsliteOp::batch_norm, {x, mean, variance}, {y}, [](auto& f) { return ms::CreateBatchNorm(f, 0.5f); });
         return y;
       },
       [](const Numbers& x) {
         return Numbers{(x[0] - 0.25) / std::sqrt(4.5), (x[1] + 1) / std::sqrt(0.75)};
       }},
      {"layer norm of each row",
       {1, 2, 2},
       [](auto& b, uint32_t x) {
         const uint32_t scale = b.reals("scale", {2}, {2, -1}), bias = b.reals("bias", {2}, {0.5f, 3});
         const uint32_t y = b.value("y", {1, 2, 2});
         b.op(MsliteOp::layer_norm, {x, scale, bias}, {y},
              [](auto& f) { return ms::CreateLayerNorm(f, 2, 0.25f, true, -1); });
         return y;
       },
       [](const Numbers& x) {
         Numbers y;
         for (size_t row = 0; row < 4; row += 2) {
           const double mean = (x[row] + x[row + 1]) / 2, apart = x[row] - mean, by = std::sqrt(apart * apart + 0.25);
           y.push_back(apart / by * 2 + 0.5);
           y.push_back(apart / by + 3);
         }
         return y;
       }},
      {"prelu by channel",
       {1, 2, 2, 3},
       [](auto& b, uint32_t x) {
         const uint32_t slope = b.reals("slope", {3}, {0.5f, -2, 0.25f}), y = b.value("y", {1, 2, 2, 3});
         b.op(MsliteOp::prelu, {x, slope}, {y});
         return y;
       },
       [](const Numbers& x) {
         return each(x, 3, [](double v, int c) { return v > 0 ? v : v * (c == 0 ? 0.5 : c == 1 ? -2 : 0.25); });
       }},
      {"scale and shift by channel, relu",
       {1, 2, 2, 3},
       [](auto& b, uint32_t x) {
         const uint32_t scale = b.weights("scale", {3}), shift = b.weights("shift", {3}),
                        y = b.value("y", {1, 2, 2, 3});
         b.op(MsliteOp::scale, {x, scale, shift}, {y}, [](auto& f) { return ms::CreateScale(f, -1, 1); });
         return y;
       },
       [](const Numbers& x) { return relu(each(x, 3, [](double v, int c) { return v * weight(c) + weight(c); })); }},
      {"scale by row",
       {1, 2, 3},
       [](auto& b, uint32_t x) {
         const uint32_t scale = b.reals("scale", {2}, {2, -3}), y = b.value("y", {1, 2, 3});
         b.op(MsliteOp::scale, {x, scale}, {y}, [](auto& f) { return ms::CreateScale(f, 1); });
         return y;
       },
       [](const Numbers& x) { return each(x, 6, [](double v, int i) { return v * (i < 3 ? 2 : -3); }); }},
  };
}

TEST(MsliteLayers, Convolutions) {
  for (const Case& each : convolution_cases()) expect_all_agree(each);
}
TEST(MsliteLayers, Windows) {
  for (const Case& each : window_cases()) expect_all_agree(each);
}
TEST(MsliteLayers, Products) {
  for (const Case& each : product_cases()) expect_all_agree(each);
}
TEST(MsliteLayers, Norms) {
  for (const Case& each : norm_cases()) expect_all_agree(each);
}

}  // namespace
}  // namespace coterie
