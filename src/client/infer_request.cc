#include "client/infer_request.h"

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/json.h"

namespace ridge::client {
namespace {

template <typename T>
Status append_numbers(std::span<const std::byte> data, Json& list) {
  for (size_t at = 0; at + sizeof(T) <= data.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, data.data() + at, sizeof value);
    if constexpr (std::is_floating_point_v<T>)
      if (!std::isfinite(value)) return Error{Code::kUnsupported, "a number that is not finite has no JSON form"};
    list.push_back(value);
  }
  return {};
}

Status append_strings(std::span<const std::byte> data, Json& list) {
  for (size_t at = 0; at < data.size();) {
    uint32_t length = 0;
    std::memcpy(&length, data.data() + at, sizeof length);
    at += sizeof length;
    list.push_back(std::string(reinterpret_cast<const char*>(data.data()) + at, length));
    at += length;
  }
  return {};
}

Status append_values(const Tensor& tensor, Json& list) {
  const std::span<const std::byte> data = tensor.data.span();
  switch (tensor.type) {
    case DataType::kBool:
      for (std::byte value : data) list.push_back(value != std::byte{0});
      return {};
    case DataType::kUint8: return append_numbers<uint8_t>(data, list);
    case DataType::kUint16: return append_numbers<uint16_t>(data, list);
    case DataType::kUint32: return append_numbers<uint32_t>(data, list);
    case DataType::kUint64: return append_numbers<uint64_t>(data, list);
    case DataType::kInt8: return append_numbers<int8_t>(data, list);
    case DataType::kInt16: return append_numbers<int16_t>(data, list);
    case DataType::kInt32: return append_numbers<int32_t>(data, list);
    case DataType::kInt64: return append_numbers<int64_t>(data, list);
    case DataType::kFp32: return append_numbers<float>(data, list);
    case DataType::kFp64: return append_numbers<double>(data, list);
    case DataType::kBytes: return append_strings(data, list);
    case DataType::kFp16:
    case DataType::kBf16:
    case DataType::kInvalid: break;
  }
  return Error{Code::kUnsupported, std::string(data_type_name(tensor.type)) + " has no JSON form"};
}

}  // namespace

NameTable<Payload> names_of(Payload) {
  static constexpr std::pair<Payload, std::string_view> kNames[] = {{Payload::kBinary, "binary"},
                                                                    {Payload::kJson, "json"}};
  return kNames;
}

Result<InferBody> infer_body(std::span<const TensorSpec> inputs, std::span<const Tensor* const> tensors,
                             Payload payload) {
  Json request;
  Json& list = request["inputs"] = Json::array();
  for (size_t i = 0; i < inputs.size(); ++i) {
    Json& input = list.emplace_back();
    input["name"] = inputs[i].name;
    input["shape"] = tensors[i]->shape;
    input["datatype"] = data_type_name(tensors[i]->type);
    if (payload == Payload::kBinary)
      input["parameters"]["binary_data_size"] = tensors[i]->data.size();
    else if (Status written = append_values(*tensors[i], input["data"] = Json::array()); !written)
      return wrap(written.error(), "input '" + inputs[i].name + "'");
  }
  if (payload == Payload::kBinary) request["parameters"]["binary_data_output"] = true;
  InferBody body{dump_json(request), 0};
  if (payload == Payload::kJson) return body;
  body.json_size = body.bytes.size();
  for (const Tensor* tensor : tensors)
    body.bytes.append(reinterpret_cast<const char*>(tensor->data.data()), tensor->data.size());
  return body;
}

}  // namespace ridge::client
