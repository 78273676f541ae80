// Writes a whole model, weights included, as one file or as a file and its data file beside it.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/reader.h"

namespace onnx {
class ModelProto;
}

namespace ridge::precision {

// Protobuf's limit for a message is 2^31 - 1 bytes; the rest of a model needs little.
inline constexpr int64_t kLargestEmbedded = 2'000'000'000;

// Weights stay in the file up to `most_embedded` bytes in all; beyond that those of 1 KiB and more go to `path` +
// ".data". `data`: the model's external data so far. Replaces the files only when all is written. Returns the bytes of
// both. Moves from the model's tensors.
Result<int64_t> write_model(onnx::ModelProto& model, const model::ExternalData& data, const std::string& path,
                            int64_t most_embedded = kLargestEmbedded);
// Beside a model that was written so: the file of its large weights. Empty: it has none.
std::string data_file_of(const std::string& path);

// ONNX's checker on a model with its values in any location. Error: its finding.
Status check_model(onnx::ModelProto& model);

}  // namespace ridge::precision
