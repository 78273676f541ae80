// GrpcWire on any bytes from a server, in any pieces: never crashes, and what it makes of them does not depend on the
// pieces.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "client/grpc_wire.h"

namespace {

using ridge::client::Wire;

// "status:size:body" of each response; ends where the connection is of no further use.
std::string read_all(std::string_view bytes, size_t piece) {
  const auto wire = ridge::client::grpc_wire("h:1", {.ok = 64, .other = 64});
  const ridge::client::Request request{"/s/M", ridge::client::grpc_message("ask")};
  std::string result;
  wire->open();
  wire->begin(request);
  while (!bytes.empty()) {
    for (std::string_view out = wire->unsent(); !out.empty(); out = wire->unsent()) wire->sent(out.size());
    const std::string_view next = bytes.substr(0, piece);
    bytes.remove_prefix(next.size());
    const Wire::Event event = wire->feed(next);
    if (event == Wire::Event::kBad) break;
    if (event == Wire::Event::kNeedMore) continue;
    const ridge::client::Response& response = wire->response();
    if (response.status == 200 && response.body.size() != std::min<size_t>(64, response.body_size)) std::abort();
    result += std::to_string(response.status) + ":" + std::to_string(response.body_size) + ":" + response.body + ";";
    break;  // what follows in the same piece belongs to no exchange
  }
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = read_all(bytes, size + 1);
  for (const size_t piece : {1, 3}) {
    const std::string pieces = read_all(bytes, piece);
    // A connection that breaks after the answer, in the same piece, leaves the answer as it is.
    if (!whole.empty() && pieces != whole) std::abort();
  }
  return 0;
}
