// Asks a server of the Open Inference Protocol for its extensions, its models, their inputs and its statistics. The
// readers of JSON are pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/tensor.h"
#include "client/exchange.h"
#include "client/server_measurement.h"

namespace ridge::client {

struct ServerInfo {
  std::string name, version;
  std::vector<std::string> extensions;
};
Result<ServerInfo> read_server(const Json& json);
bool has_extension(const ServerInfo& server, std::string_view extension);

struct ServedModel {
  std::string name;
  std::vector<std::string> versions;
  std::vector<TensorSpec> inputs, outputs;
};
Result<ServedModel> read_model(const Json& json);

// Statistics of one version, since it was loaded.
struct Statistics {
  int64_t success = 0, failed = 0, rows = 0, executions = 0;
  struct Duration {
    int64_t count = 0, ns = 0;
  };
  Duration queue, input, compute, output;
  std::map<int64_t, int64_t> batches;  // executions by rows
};
Result<Statistics> read_statistics(const Json& json, const std::string& version);
ServerSide difference(const Statistics& before, const Statistics& after);

Result<ServerInfo> describe_server(Exchange& exchange);
// Errors: there is none of this name, and those that there are.
Result<ServedModel> describe_model(Exchange& exchange, const ServerInfo& server);
// Names of the models that are ready. Error: the server has no index.
Result<std::vector<std::string>> ready_models(Exchange& exchange);
Result<Statistics> statistics(Exchange& exchange, const std::string& version);

// One inference: the version that answered. Errors: an answer's, prefixed by its status; kInvalid: the request's.
Result<std::string> infer_once(Exchange& exchange, const Request& request);

}  // namespace ridge::client
