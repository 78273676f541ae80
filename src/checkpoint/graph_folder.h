// A folder with a decoder as a graph of OpenVINO's, as optimum-intel exports it: openvino_model.xml and .bin beside the
// documents of the Hugging Face kind. Its weights stay in the form that they were exported in.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace ridge::checkpoint {

std::string graph_file(const std::string& folder);
// Has the graph, and no *.safetensors: these are read first.
bool is_graph_folder(const std::string& folder);

struct GraphConstants {
  std::string type;   // that most of the values have, in OpenVINO's words: f32, f16, bf16, i8, u8, i4, u4, …
  int64_t bytes = 0;  // of all
};
// Reads the text of the graph alone. Errors name the file.
Result<GraphConstants> graph_constants(const std::string& folder);

}  // namespace ridge::checkpoint
