#include "engine/openvino/plugin/element_type.h"

#include <array>

namespace ridge::engine::openvino::plugin {
namespace {

struct Pair {
  DataType ours;
  ov::element::Type_t theirs;
};

constexpr std::array<Pair, 13> kPairs = {{
    {DataType::kBool, ov::element::Type_t::boolean},
    {DataType::kUint8, ov::element::Type_t::u8},
    {DataType::kUint16, ov::element::Type_t::u16},
    {DataType::kUint32, ov::element::Type_t::u32},
    {DataType::kUint64, ov::element::Type_t::u64},
    {DataType::kInt8, ov::element::Type_t::i8},
    {DataType::kInt16, ov::element::Type_t::i16},
    {DataType::kInt32, ov::element::Type_t::i32},
    {DataType::kInt64, ov::element::Type_t::i64},
    {DataType::kFp16, ov::element::Type_t::f16},
    {DataType::kFp32, ov::element::Type_t::f32},
    {DataType::kFp64, ov::element::Type_t::f64},
    {DataType::kBf16, ov::element::Type_t::bf16},
}};

}  // namespace

DataType to_data_type(const ov::element::Type& type) {
  for (const Pair& pair : kPairs)
    if (type == pair.theirs) return pair.ours;
  return DataType::kInvalid;
}

ov::element::Type to_element_type(DataType type) {
  for (const Pair& pair : kPairs)
    if (pair.ours == type) return pair.theirs;
  return ov::element::dynamic;
}

}  // namespace ridge::engine::openvino::plugin
