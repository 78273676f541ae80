#include "checkpoint/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/fields.h"
#include "base/json.h"

namespace ridge::checkpoint {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr size_t kLargestHeader = 100'000'000;  // as the library's own reader [bytes]

constexpr std::array<std::pair<std::string_view, DataType>, 13> kTypes = {{{"F64", DataType::kFp64},
                                                                           {"F32", DataType::kFp32},
                                                                           {"F16", DataType::kFp16},
                                                                           {"BF16", DataType::kBf16},
                                                                           {"I64", DataType::kInt64},
                                                                           {"I32", DataType::kInt32},
                                                                           {"I16", DataType::kInt16},
                                                                           {"I8", DataType::kInt8},
                                                                           {"U64", DataType::kUint64},
                                                                           {"U32", DataType::kUint32},
                                                                           {"U16", DataType::kUint16},
                                                                           {"U8", DataType::kUint8},
                                                                           {"BOOL", DataType::kBool}}};

struct HeaderRecord {
  std::string dtype;
  Shape shape;
  std::vector<int64_t> data_offsets;
};
void visit_fields(auto& visit, Is<HeaderRecord> auto& record) {
  visit("dtype", record.dtype);
  visit("shape", record.shape, at_least(0));
  visit("data_offsets", record.data_offsets, at_least(0));
}

Result<TensorView> tensor_of(const Json& json, std::span<const std::byte> data) {
  RIDGE_ASSIGN(const HeaderRecord record, from_json<HeaderRecord>(json));
  const auto type =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& row) { return row.first == record.dtype; });
  if (type == kTypes.end())
    return Error{Code::kUnsupported,
                 "is of type " + record.dtype + ", which ridge does not read; weights are F32, F16 or BF16"};
  if (record.data_offsets.size() != 2) return invalid("member 'data_offsets' should have 2 numbers");
  const auto begin = static_cast<size_t>(record.data_offsets[0]), end = static_cast<size_t>(record.data_offsets[1]);
  if (begin > end || end > data.size())
    return invalid(fmt::format(
        "lies at bytes {} to {} of the {} that the file has behind its header: it was cut short, or is damaged", begin,
        end, data.size()));
  const std::optional<size_t> needed = byte_size(type->second, record.shape);
  if (!needed || *needed != end - begin)
    return invalid(fmt::format("of shape {} and type {} does not have the {} bytes that the header gives it",
                               shape_text(record.shape), record.dtype, end - begin));
  return TensorView{type->second, record.shape, data.subspan(begin, end - begin)};
}

// No holes, no overlaps, no rest.
Status check_places(const Tensors& tensors, std::span<const std::byte> data) {
  std::vector<std::pair<const std::byte*, const std::byte*>> places;
  for (const auto& [name, tensor] : tensors)
    places.emplace_back(tensor.data.data(), tensor.data.data() + tensor.data.size());
  std::sort(places.begin(), places.end());
  const std::byte* end = data.data();
  for (const auto& [first, last] : places) {
    if (first != end)
      return invalid(fmt::format("its tensors {} at byte {} of its data", first < end ? "overlap" : "leave a hole",
                                 std::min(first, end) - data.data()));
    end = last;
  }
  const auto rest = static_cast<size_t>(data.data() + data.size() - end);
  if (rest > 0) return invalid(fmt::format("{} bytes at its end belong to no tensor", rest));
  return {};
}

}  // namespace

Result<Tensors> read_safetensors(std::span<const std::byte> file) {
  if (file.size() < kLengthBytes) return invalid(fmt::format("it has {} bytes: not a safetensors file", file.size()));
  uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  const std::span<const std::byte> rest = file.subspan(kLengthBytes);
  if (length > kLargestHeader || length > rest.size())
    return invalid(fmt::format(
        "its header should have {} bytes and the file has {}: it was cut short, or is not a safetensors file", length,
        file.size()));
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), length);
  RIDGE_ASSIGN(const Json header, parse_json(text, "header"));
  if (!header.is_object()) return invalid("its header should be a JSON object");
  const std::span<const std::byte> data = rest.subspan(length);
  Tensors tensors;
  for (const auto& [name, json] : header.items()) {
    if (name == "__metadata__") continue;
    Result<TensorView> tensor = tensor_of(json, data);
    if (!tensor) return wrap(std::move(tensor).error(), "tensor '" + name + "'");
    if (!tensors.emplace(name, std::move(*tensor)).second) return invalid("tensor '" + name + "' is there twice");
  }
  RIDGE_TRY(check_places(tensors, data));
  return tensors;
}

}  // namespace ridge::checkpoint
