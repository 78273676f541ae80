// Writes a Blueprint as an ONNX file. The weights are generated in pieces as they are written, so memory does not grow
// with the model.
#pragma once

#include <string>

#include "base/result.h"
#include "zoo/blueprint.h"

namespace ridge::zoo {

int64_t weight_bytes(const Blueprint& blueprint);
// True if the file would exceed protobuf's limit (2 GB): the weights go to `path` + ".data".
bool needs_external_data(const Blueprint& blueprint);

// Replaces `path` (and its data file) only when all is written; on failure nothing is left behind. Creates missing
// parent folders.
Status write(const Blueprint& blueprint, uint64_t seed, const std::string& path);

}  // namespace ridge::zoo
