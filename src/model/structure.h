// The structure of a model: known versions, nodes that match their schemas, one graph without function calls.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace onnx {
class ModelProto;
}

namespace ridge::model {

// Spells the default domain "" everywhere ("ai.onnx" is its alias), and turns Constant nodes into initialisers.
void normalise(onnx::ModelProto& model);

// Errors: opset older than 7 or newer than ONNX's library knows, a domain that is used but not imported.
Status check_versions(const onnx::ModelProto& model);

// ONNX's checker: each node against its operator's schema. Its exceptions become errors here. Also checks that
// Split's num_outputs is the number of its outputs, which the checker does not and shape inference relies on.
Status check_schemas(const onnx::ModelProto& model);

// Inputs and outputs of the graph that have no shape, so that not even their number of dimensions is known.
std::vector<std::string> tensors_without_shape(const onnx::ModelProto& model);
// Names the file's tensors without a shape; none if it cannot be read.
std::vector<std::string> tensors_without_shape(const std::string& path);

// Replaces calls of the model's own functions by their bodies. Error: a body that would become unreasonably large.
Status inline_functions(onnx::ModelProto& model);

}  // namespace ridge::model
