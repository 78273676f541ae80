// OpenVINO's shapes and element types as ours and back.
#pragma once

#include <openvino/core/partial_shape.hpp>
#include <openvino/core/type/element_type.hpp>

#include "base/tensor.h"

namespace ridge::engine::openvino::plugin {

Shape to_shape(const ov::PartialShape& shape);  // dynamic dimensions are -1; unknown rank: empty
Shape to_shape(const ov::Shape& shape);
ov::Shape from_shape(const Shape& shape);  // every dimension ≥ 0

// kInvalid for types that the wire protocol lacks, and for strings: OpenVINO 2026.4's CPU device frees
// memory that it does not own when a request with string tensors ends.
DataType to_data_type(const ov::element::Type& type);
ov::element::Type to_element_type(DataType type);

}  // namespace ridge::engine::openvino::plugin
