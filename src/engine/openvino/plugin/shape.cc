#include "engine/openvino/plugin/shape.h"

namespace ridge::engine::openvino::plugin {

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

}  // namespace ridge::engine::openvino::plugin
