// The open dimensions that reference models share.
#pragma once

#include "model/zoo.h"
#include "model/zoo/blueprint.h"

namespace ridge::model::zoo {

inline Dimension batch_dimension(const ZooOptions& options) {
  return options.batch ? Dimension(*options.batch) : Dimension(std::string("batch"));
}

inline Dimension sequence_dimension(const ZooOptions& options) {
  return options.sequence ? Dimension(*options.sequence) : Dimension(std::string("sequence"));
}

}  // namespace ridge::model::zoo
