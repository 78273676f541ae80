// The dynamic dimensions that reference models share.
#pragma once

#include "zoo/blueprint.h"
#include "zoo/zoo.h"

namespace ridge::zoo {

inline Dimension batch_dimension(const ZooOptions& options) {
  return options.batch ? Dimension(*options.batch) : Dimension(std::string("batch"));
}

inline Dimension sequence_dimension(const ZooOptions& options) {
  return options.sequence ? Dimension(*options.sequence) : Dimension(std::string("sequence"));
}

}  // namespace ridge::zoo
