#include "front/infer_rules.h"

#include <algorithm>
#include <limits>

namespace ridge::front {
namespace {

constexpr uint64_t kLargeElements = 1024 * 1024;  // [bytes] of a BYTES tensor outside JSON: its elements are walked

}  // namespace

Result<DataType> read_data_type(std::string_view name) {
  const DataType type = data_type_from_name(name);
  if (type != DataType::kInvalid) return type;
  return invalid("unknown datatype '" + std::string(name) +
                 "'; known are BOOL, UINT8 … UINT64, INT8 … INT64, FP16, FP32, FP64, BF16, BYTES");
}

void set_timeout(serve::InferRequest& request, int64_t microseconds) {
  constexpr int64_t kLongest = std::numeric_limits<int64_t>::max() / 2000;
  if (microseconds > 0) request.timeout = std::chrono::microseconds(std::min(microseconds, kLongest));
}

Result<std::optional<serve::SharedMemoryView>> region_part(std::optional<std::string> region,
                                                           std::optional<uint64_t> offset,
                                                           std::optional<uint64_t> byte_size) {
  if (!region && !offset && !byte_size) return std::optional<serve::SharedMemoryView>();
  if (!region || !byte_size)
    return invalid("'shared_memory_region' and 'shared_memory_byte_size' are needed, both or none");
  return std::optional(
      serve::SharedMemoryView{.region = std::move(*region), .offset = offset.value_or(0), .byte_size = *byte_size});
}

bool uses_regions(const serve::InferRequest& request) {
  auto has_part = [](const auto& tensor) { return tensor.part.has_value(); };
  return std::any_of(request.inputs.begin(), request.inputs.end(), has_part) ||
         std::any_of(request.outputs.begin(), request.outputs.end(), has_part);
}

bool has_many_elements(const serve::InferRequest& request) {
  return std::any_of(request.inputs.begin(), request.inputs.end(), [](const serve::RequestInput& input) {
    const uint64_t size = input.part ? input.part->byte_size : input.data.size();
    return input.type == DataType::kBytes && size > kLargeElements;
  });
}

}  // namespace ridge::front
