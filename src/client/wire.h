// The protocol of a connection: requests → bytes → responses, one exchange after another. Sans I/O, one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace ridge::client {

struct Request {
  std::string path;   // of gRPC: the method, "/inference.GRPCInferenceService/ModelInfer"; of HTTP it is in the bytes
  std::string bytes;  // HTTP: the whole request; gRPC: the message behind its five bytes of length
};

// Statuses of responses are HTTP's; gRPC's but OK (200) are kGrpcStatus + code: kGrpcStatus + 14 is UNAVAILABLE.
constexpr int kGrpcStatus = 1000;

struct Response {
  int status = 0;
  std::optional<size_t> json_size;  // Inference-Header-Content-Length [bytes]
  size_t body_size = 0;             // [bytes] received; of gRPC's message
  std::string body;                 // its beginning, as far as it is kept; of a gRPC status but OK its message
  bool keep_alive = true;
};

// [bytes] of a body to keep: of status 200, and of others, whose text says what went wrong.
struct BodyLimits {
  size_t ok = 0, other = 4096;
};

// Kinds of failures, beside statuses.
enum Failure : int {
  kNone = 0,
  kTimeout = -1,
  kNoConnection = -2,
  kClosed = -3,
  kNotHttp = -4,
  kNotGrpc = -5,
  // An answer of status 200 that does not count (Protocol::failure_of(), token_stream.h).
  kBadAnswer = -6,
  kErrorInAnswer = -7,
  kNoDone = -8,
  kNoTokens = -9,
  kNoUsage = -10
};
// "503", "UNAVAILABLE", "timeout", "no connection", …: of a failure or a status. Its name in JSON.
std::string failure_name(int failure);
// kNotFound; kInvalid: the request is at fault; kUnavailable: anything else.
Code code_of_status(int status);
// The text of {"error": text} (Open Inference Protocol) or {"error": {"message": text}} (OpenAI); empty: neither.
std::string error_of(const Json& json);
// Text of a response other than 200: its error_of(), else the beginning of its body.
std::string error_text(const Response& response);

class Wire {
 public:
  enum class Event { kNeedMore, kDone, kBad };
  virtual ~Wire() = default;

  virtual void open() = 0;  // a new connection
  // `request` outlives the exchange.
  virtual void begin(const Request& request) = 0;
  // Bytes to send next; valid until the next call.
  virtual std::string_view unsent() = 0;
  virtual void sent(size_t count) = 0;
  // Also between exchanges, where kBad means that the connection is of no further use.
  virtual Event feed(std::string_view received) = 0;
  virtual Event end() = 0;  // the connection has ended. kDone: so has the response, whose length this was

  virtual bool answering() const = 0;             // the response has begun
  virtual const Response& response() const = 0;   // complete after kDone
  virtual Failure bad() const = 0;                // what kBad is
  virtual std::string_view bad_text() const = 0;  // "the answer is not HTTP"
};

}  // namespace ridge::client
