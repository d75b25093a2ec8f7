// Single ONNX nodes to ops of the model: one converter an operator, by families.
#pragma once

#include "model_import/convert/context.h"
#include "model_import/graph/fused_ops.h"

namespace coterie::model_import {

// Defines the node's outputs in the context. Errors: malformed, invalid_argument (a form that is not
// supported), each naming the node.
using Converter = Status (*)(Context&, const Node&);

Converter converter_of(const std::string& op);  // null: none
// What a model with this unknown operator could do instead, for the message; may be empty.
std::string nearest_form(const std::string& op);

// The families; null where the operator is of another one.
Converter convolution_converter(const std::string& op);
Converter pool_converter(const std::string& op);
Converter norm_converter(const std::string& op);
Converter unary_converter(const std::string& op);
Converter binary_converter(const std::string& op);
Converter matmul_converter(const std::string& op);
Converter reduce_converter(const std::string& op);
Converter shape_converter(const std::string& op);
Converter data_converter(const std::string& op);
Converter recurrent_converter(const std::string& op);
Converter pad_converter(const std::string& op);
Converter composed_activation_converter(const std::string& op);
Converter image_block_converter(const std::string& op);
Converter index_converter(const std::string& op);

// Whether the operator is about images: its operand 0 is [batch, channels, height, width].
bool is_image_op(const std::string& op);
// Whether its output can lie in the order of its first operand of that rank.
bool keeps_order(const std::string& op);

}  // namespace coterie::model_import
