// An order in which the nodes of a model can run, and the names that connect them.
#pragma once

#include "base/result.h"

namespace onnx {
class ModelProto;
}

namespace ridge::model {

// Sorts the nodes of every graph, keeping the file's order where it can. Errors: a name defined twice, an undefined
// name, a cycle (the message names its nodes and tensors).
Status order_nodes(onnx::ModelProto& model);

}  // namespace ridge::model
