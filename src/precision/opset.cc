#include "precision/opset.h"

#include <onnx/onnx_pb.h>
#include <onnx/version_converter/convert.h>

#include <algorithm>
#include <exception>
#include <string>

#include "model/structure.h"

namespace ridge::precision {
namespace {

int64_t opset_of(const onnx::ModelProto& model) {
  for (const auto& import : model.opset_import())
    if (import.domain().empty()) return import.version();
  return 0;
}

}  // namespace

int64_t ir_version_of(int64_t opset) {
  if (opset <= 13) return 7;
  if (opset <= 18) return 8;
  if (opset <= 20) return 9;
  if (opset <= 22) return 10;
  return opset <= 23 ? 11 : 12;
}

Status raise_opset(onnx::ModelProto& model, int64_t least) {
  const int64_t opset = opset_of(model);
  if (opset >= least) return {};
  const std::string doing = "convert it from opset " + std::to_string(opset) + " to " + std::to_string(least) +
                            ", which the result needs; export the model with that opset: ";
  try {
    onnx::ModelProto converted = onnx::version_conversion::ConvertVersion(model, static_cast<int>(least));
    if (converted.graph().node_size() == 0 && model.graph().node_size() > 0)
      return Error{Code::kUnsupported, doing + "the converter gave an empty graph"};
    converted.set_ir_version(std::max(model.ir_version(), ir_version_of(least)));
    model.Swap(&converted);
    model::normalise(model);  // the converter adds Constant nodes
    return {};
  } catch (const std::exception& e) {
    return Error{Code::kUnsupported, doing + e.what()};
  }
}

}  // namespace ridge::precision
