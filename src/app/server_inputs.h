// The inputs that `ridge bench URL` sends: seeded random values, or the user's files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"
#include "client/inference_server.h"
#include "client/server_measurement.h"
#include "model/graph.h"

namespace ridge::app {

struct InputRequest {
  std::optional<int64_t> batch;     // for first dimensions that the server leaves open; absent: 1
  std::vector<std::string> shapes;  // of --shape
  std::vector<std::string> files;   // NAME=FILE.npy, or a path as of precision/sample_files.h
  uint64_t seed = 1;
};

struct ServerInputs {
  std::vector<client::RequestInput> described;  // in the order of the model's inputs
  std::vector<std::vector<Tensor>> columns;     // per input: its tensors, taken in turn by request
  size_t requests = 1;                          // different ones
  int64_t batch = 1;                            // rows of each
  std::vector<std::string> notes;
};

// `graph`, the model's, tells how large ids may be; null: they are 0 and 1. Errors are of the request: shapes that the
// model has not, open dimensions without a value, files that do not fit.
Result<ServerInputs> server_inputs(const client::ServedModel& model, const InputRequest& request,
                                   const model::Graph* graph);

}  // namespace ridge::app
