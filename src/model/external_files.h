// Files beside an ONNX model that hold its weights (external data): to move or copy the model as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace onnx {
class ModelProto;
class TensorProto;
}  // namespace onnx

namespace ridge::model {

// Locations as the file gives them, relative to its folder; sorted, each once; of all graphs and subgraphs. Does not
// check that they exist: read() does.
std::vector<std::string> external_files(const onnx::ModelProto& model);

// True if a location is not below the model's folder. By name only: its files may be links into a store.
bool escapes(const std::string& location);

// The tensor's values are `length` bytes at `offset` of the file `location`, whatever it pointed to before; its raw
// data stay as they are.
void point_to(onnx::TensorProto& tensor, const std::string& location, int64_t offset, int64_t length);

}  // namespace ridge::model
