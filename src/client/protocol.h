// How a server of the Open Inference Protocol is asked: by HTTP with JSON, or by gRPC with protobuf. What it answers
// has the same members, so that it is read once, as JSON.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/json.h"
#include "base/name_table.h"
#include "base/result.h"
#include "base/tensor.h"
#include "client/server_url.h"
#include "client/wire.h"

namespace ridge::client {

// Questions to a server before and after a load. kModel and kStatistics are about the URL's model.
enum class MetadataRequest { kServer, kModel, kStatistics, kIndex };

// How tensors travel: as bytes (HTTP: by the extension binary_tensor_data), or as JSON.
enum class Payload { kBinary, kJson };
NameTable<Payload> names_of(Payload);

struct InferRequest {
  Request request;
  size_t body_size = 0;  // [bytes] HTTP: of the body; gRPC: of the message
};

class Protocol {
 public:
  virtual ~Protocol() = default;
  virtual std::unique_ptr<Wire> wire(const ServerUrl& url, const BodyLimits& keep) const = 0;
  virtual std::string name() const = 0;  // "HTTP"

  virtual Request request(const ServerUrl& url, MetadataRequest question) const = 0;
  // The answer's JSON, as HTTP has it. 64-bit integers may be texts.
  virtual Result<Json> read(MetadataRequest question, const Response& answer) const = 0;
  virtual std::string text_of(const ServerUrl& url, MetadataRequest question) const = 0;  // "GET http://HOST/v2"

  // Asks for all outputs in the same form. Errors: FP16, BF16 and values that are not finite in JSON; JSON by gRPC.
  virtual Result<InferRequest> infer(const ServerUrl& url, std::span<const TensorSpec> inputs,
                                     std::span<const Tensor* const> tensors, Payload payload) const = 0;
  // 0, or the Failure of an answer of status 200 without outputs, and why. Bytes behind Response::body are ignored.
  virtual int failure_of(const Response& answer, std::string& why) const = 0;
  virtual Result<std::string> version_of(const Response& answer) const = 0;  // that answered it
  virtual std::string infer_text(const ServerUrl& url) const = 0;            // "POST http://HOST/v2/models/NAME/infer"
};

const Protocol& protocol_of(Scheme scheme);

const Protocol& http_protocol();
const Protocol& grpc_protocol();
// A whole HTTP request. `fields`: more header lines, each ended by CRLF.
std::string http_request(const ServerUrl& url, std::string_view method, std::string_view path,
                         std::string_view body = "", std::string_view fields = "");

}  // namespace ridge::client
