// OpenVINO's element types as ours and back.
#pragma once

#include <openvino/core/type/element_type.hpp>

#include "base/tensor.h"

namespace ridge::engine::openvino::plugin {

// kInvalid for types that the wire protocol lacks, and for strings: OpenVINO 2026.4's CPU device frees
// memory that it does not own when a request with string tensors ends.
DataType to_data_type(const ov::element::Type& type);
ov::element::Type to_element_type(DataType type);

}  // namespace ridge::engine::openvino::plugin
