// The server that `ridge bench URL` loads: asked for its model, tried with one request.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/bench_server.h"
#include "client/exchange.h"
#include "client/inference_server.h"
#include "model/reader.h"

namespace ridge::app {

// The server as it was found, and what is sent to it.
struct ServerUnderTest {
  client::Exchange exchange;
  client::ServerInfo server;
  client::ServedModel model;
  std::string version;  // that answered
  ServerInputs inputs;
  client::Payload payload = client::Payload::kBinary;
  std::shared_ptr<const std::vector<client::Request>> requests;
  int64_t request_bytes = 0;
  std::optional<LlmServer> llm;  // then requests are made by it, and inputs are empty
};

// `graph`: the model file's, for its inputs; null: as the server describes them. Errors as bench_server().
Result<ServerUnderTest> find_server(const ServerBenchRequest& request, const model::Graph* graph);

}  // namespace ridge::app
