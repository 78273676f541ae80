#include "engine/openvino/plugin/tensor_type.h"

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

Shape to_shape(const ov::PartialShape& shape) {
  Shape ours;
  if (shape.rank().is_dynamic()) return ours;
  for (const ov::Dimension& dimension : shape) ours.push_back(dimension.is_static() ? dimension.get_length() : -1);
  return ours;
}

Shape to_shape(const ov::Shape& shape) {
  Shape ours;
  for (size_t dimension : shape) ours.push_back(static_cast<int64_t>(dimension));
  return ours;
}

ov::Shape from_shape(const Shape& shape) {
  ov::Shape theirs;
  for (int64_t dimension : shape) theirs.push_back(static_cast<size_t>(dimension));
  return theirs;
}

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
