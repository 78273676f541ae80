// OpenVINO's shapes as ours and back.
#pragma once

#include <openvino/core/partial_shape.hpp>

#include "base/tensor.h"

namespace ridge::engine::openvino::plugin {

Shape to_shape(const ov::PartialShape& shape);  // dynamic dimensions are -1; unknown rank: empty
Shape to_shape(const ov::Shape& shape);
ov::Shape from_shape(const Shape& shape);  // every dimension ≥ 0

}  // namespace ridge::engine::openvino::plugin
