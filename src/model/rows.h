// Finds out from the graph if the first dimension of a model's tensors is its batch.
#pragma once

#include "base/result.h"
#include "model/reader.h"

namespace ridge::model {

// ok if the first dimension of all inputs is open and one and the same, and that of every output follows it: by the
// names in the file or by shape inference. The error says which tensor does not, or that the name is one of positions
// or of things found (sequence, num_boxes), whose rows belong together.
Status check_rows_tied(const UnboundModel& model);

}  // namespace ridge::model
