// Http2Session on any bytes behind the client's greeting, in any pieces, read and unread: never crashes, and holds no
// more streams and waiting frames than it may. The first byte chooses the pieces; its lowest bit whether the client
// reads. What the streams get is read as gRPC's messages.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "front/body.h"
#include "front/grpc/message_reader.h"
#include "front/http/test_streams.h"

using namespace ridge::front;

namespace {

void read_messages(std::string_view bytes, size_t piece) {
  static BodyPool bodies(nullptr);
  grpc::MessageReader reader;
  while (!bytes.empty()) {
    const std::string_view next = bytes.substr(0, piece);
    ridge::Result<size_t> taken = reader.feed(std::as_bytes(std::span(next)), bodies, 1 << 16);
    if (!taken) return;
    if (*taken == 0) std::abort();
    bytes.remove_prefix(*taken);
    reader.take();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t piece = size_t{data[0]} + 1;
  std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  read_messages(bytes, piece);
  http::StreamsForTest streams;
  streams.receive("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  while (!bytes.empty() && streams.receive(bytes.substr(0, piece))) {
    bytes.remove_prefix(std::min(piece, bytes.size()));
    if ((data[0] & 1) != 0) streams.send();
    if (streams.session.streams() > http::Http2Limits{}.streams) std::abort();
    if (streams.session.over()) break;
  }
  streams.send();
  return 0;
}
