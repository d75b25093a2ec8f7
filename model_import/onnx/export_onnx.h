// Model files as ONNX models of opset 17. What becomes what: model_import/export/export_graph.h.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "device_sdk/runtime/int8/int8_model.h"
#include "device_sdk/runtime/model.h"

namespace coterie::model_import {

// Errors: those of export_graph and of write_onnx.
Result<Bytes> export_onnx(const Model& model);
// As QDQ. Errors: those of export_grids, too.
Result<Bytes> export_int8_onnx(const Int8Model& model);

}  // namespace coterie::model_import
