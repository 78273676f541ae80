// Writes a whole model, weights included, as one file or as a file and its data file beside it.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace onnx {
class ModelProto;
}

namespace ridge::precision {

// Protobuf's limit for a message is 2^31 - 1 bytes; the rest of a model needs little.
inline constexpr int64_t kLargestEmbedded = 2'000'000'000;

// Weights stay in the file up to `most_embedded` bytes in all; beyond that those of 1 KiB and more go to `path` + ".data".
// `folder`: where the model's present external data lies; it may be the target's own, and the target's own data file. Replaces
// the files only when all is written. Returns the bytes of both. The model's tensors are moved from.
Result<int64_t> write_model(onnx::ModelProto& model, const std::string& folder, const std::string& path,
                            int64_t most_embedded = kLargestEmbedded);

// ONNX's checker on a model whose values may be anywhere. Error: what it found.
Status check_model(onnx::ModelProto& model);

}  // namespace ridge::precision
