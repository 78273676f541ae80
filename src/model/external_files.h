// The files beside an ONNX model that hold its weights (external data), so that the model can be moved or copied as a whole.
#pragma once

#include <string>
#include <vector>

namespace onnx {
class ModelProto;
}

namespace ridge::model {

// Locations as the file gives them, relative to its folder; sorted, each once; of all graphs and subgraphs. Does not
// check that they exist: read() does.
std::vector<std::string> external_files(const onnx::ModelProto& model);

}  // namespace ridge::model
