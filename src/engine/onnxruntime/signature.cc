#include "engine/onnxruntime/signature.h"

#include "engine/onnxruntime/element_type.h"

namespace ridge::engine::onnxruntime {
namespace {

const char* kind_text(ONNXType kind) {
  switch (kind) {
    case ONNX_TYPE_SEQUENCE: return "a sequence";
    case ONNX_TYPE_MAP: return "a map";
    case ONNX_TYPE_OPAQUE: return "an opaque value";
    case ONNX_TYPE_SPARSETENSOR: return "a sparse tensor";
    case ONNX_TYPE_OPTIONAL: return "an optional value";
    default: return "of unknown type";
  }
}

Result<TensorSpec> read_tensor(const OrtApi& api, const OrtTypeInfo* type, const std::string& role, std::string name) {
  const std::string where = "the model's " + role + " '" + name + "' ";
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  RIDGE_TRY(take(api, api.GetOnnxTypeFromTypeInfo(type, &kind)));
  if (kind != ONNX_TYPE_TENSOR)
    return Error{Code::kUnsupported, where + "is " + kind_text(kind) + "; only tensors can be measured and served. " +
                                         "Export the model without it (skl2onnx: options={'zipmap': False})"};
  const OrtTensorTypeAndShapeInfo* info = nullptr;  // belongs to `type`
  RIDGE_TRY(take(api, api.CastTypeInfoToTensorInfo(type, &info)));
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  size_t rank = 0;
  RIDGE_TRY(take(api, api.GetTensorElementType(info, &element)));
  RIDGE_TRY(take(api, api.GetDimensionsCount(info, &rank)));
  TensorSpec spec{std::move(name), to_data_type(element), Shape(rank)};
  if (spec.type == DataType::kInvalid)
    return Error{Code::kUnsupported, where + "has ONNX element type " + std::to_string(element) +
                                         ", which the Open Inference Protocol does not have; cast it in the model"};
  RIDGE_TRY(take(api, api.GetDimensions(info, spec.shape.data(), rank)));
  return spec;
}

using CountFunction = decltype(OrtApi::SessionGetInputCount);
using NameFunction = decltype(OrtApi::SessionGetInputName);
using TypeFunction = decltype(OrtApi::SessionGetInputTypeInfo);

Result<std::vector<TensorSpec>> read_side(const Library& library, const OrtSession* session, const std::string& role,
                                          CountFunction count_of, NameFunction name_of, TypeFunction type_of) {
  const OrtApi& api = *library.api;
  size_t count = 0;
  RIDGE_TRY(take(api, count_of(session, &count)));
  std::vector<TensorSpec> specs;
  for (size_t i = 0; i < count; ++i) {
    char* raw_name = nullptr;
    RIDGE_TRY(take(api, name_of(session, i, library.allocator, &raw_name)));
    std::string name = take_text(library, raw_name);
    TypeInfoHandle type(api);
    RIDGE_TRY(take(api, type_of(session, i, type.out())));
    RIDGE_ASSIGN(TensorSpec spec, read_tensor(api, type.get(), role, std::move(name)));
    specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace

Result<Signature> read_signature(const Library& library, const OrtSession* session) {
  const OrtApi& api = *library.api;
  Signature signature;
  RIDGE_ASSIGN(signature.inputs, read_side(library, session, "input", api.SessionGetInputCount, api.SessionGetInputName,
                                           api.SessionGetInputTypeInfo));
  RIDGE_ASSIGN(signature.outputs, read_side(library, session, "output", api.SessionGetOutputCount,
                                            api.SessionGetOutputName, api.SessionGetOutputTypeInfo));
  auto optional = read_side(library, session, "optional input", api.SessionGetOverridableInitializerCount,
                            api.SessionGetOverridableInitializerName, api.SessionGetOverridableInitializerTypeInfo);
  if (optional) signature.optional_inputs = std::move(*optional);  // an input without a name is optional
  return signature;
}

}  // namespace ridge::engine::onnxruntime
